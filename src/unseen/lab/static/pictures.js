// A picture file that is dropped or chosen, read in the browser.

const MOST_BYTES = 20e6, MOST_PIXELS = 40e6, MOST_HEIGHT = 640;

/**
 * The pixels of a picture file, made smaller if it is large.
 * @param {Blob} file @returns {Promise<ImageData>}
 */
export async function readPicture(file) {
  if (file.size > MOST_BYTES) throw new Error(`This file has ${megas(file.size)} MB; the most is ${megas(MOST_BYTES)}.`);
  const image = new Image();
  await new Promise((done, fail) => {
    const reader = new FileReader();
    image.onload = done;
    image.onerror = reader.onerror = () =>
      fail(new Error("This is no picture that the browser can read. Try PNG or JPEG."));
    reader.onload = () => { image.src = String(reader.result); };
    reader.readAsDataURL(file);
  });
  const { naturalWidth: width, naturalHeight: height } = image; // known before it is decoded
  if (width * height > MOST_PIXELS)
    throw new Error(`This picture has ${megas(width * height)} million pixels; the most is ${megas(MOST_PIXELS)}.`);
  const scale = Math.min(1, MOST_HEIGHT / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

/** @param {number} count */
const megas = (count) => Math.round(count / 1e6);

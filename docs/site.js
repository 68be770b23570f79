// From a disk, browsers let no page start the worker that searches.
if (location.protocol === "file:") {
  for (const part of document.querySelectorAll(".md-search, label[for=__search]")) part.remove();
}

const details = document.querySelector(".details");
const tables = [...document.querySelectorAll(".grid")].map((table) =>
  [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll(".cell")]));
for (const rows of tables) {
  if (rows[0]?.[0]) rows[0][0].tabIndex = 0;
  rows.forEach((row, down) => row.forEach((cell, across) => {
    cell.setAttribute("aria-label", cell.title);
    const show = () => {
      details.textContent = cell.title || cell.ariaLabel;
      details.classList.add("filled");
    };
    cell.addEventListener("mouseenter", show);
    cell.addEventListener("focus", show);
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const next = step && rows[down + step[0]]?.[across + step[1]];
      if (next) { event.preventDefault(); next.focus(); }
    });
  }));
}

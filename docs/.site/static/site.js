// On a phone the stylesheet shows a row as a list: each cell then needs the name of its column, and empty cells are left out.
function nameColumns(table) {
  const names = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  for (const cell of table.querySelectorAll("tbody td")) {
    const name = names[cell.cellIndex];
    if (!cell.textContent.trim() && !cell.querySelector("img")) cell.dataset.empty = "";
    else if (name && cell.cellIndex > 0) cell.dataset.column = name;
  }
}

// A long name breaks after a dot, a slash or an underscore before it breaks within a word.
function offerBreaks(code) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) found.push(texts.currentNode);
  for (const text of found) {
    const parts = text.data.split(/(?<=[._/\]=,-])(?=[\w[])/);
    text.replaceWith(...parts.flatMap((part, index) => (index ? [document.createElement("wbr"), part] : [part])));
  }
}

// A picture that is small on a phone is shown alone, where it can be enlarged.
function showAlone(picture) {
  const link = document.createElement("a");
  link.href = picture.src;
  picture.replaceWith(link);
  link.append(picture);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("#content img").forEach((picture) => picture.closest("a") || showAlone(picture));
  document.querySelectorAll("#content table").forEach(nameColumns);
  document.querySelectorAll("#content td code").forEach(offerBreaks);
});

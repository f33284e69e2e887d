// Follows a run without reloading. Without this script the page reloads itself every two seconds.
"use strict";
const box = document.getElementById("progress");
if (box) {
  const list = box.querySelector("ol");
  const source = new EventSource(box.dataset.events + "?after=" + list.children.length);
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    if (told.end) {
      source.close();
      location.reload();
      return;
    }
    const item = document.createElement("li");
    item.textContent = told.words;
    list.append(item);
  };
}

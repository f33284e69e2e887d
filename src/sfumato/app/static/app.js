// What a page can do without reloading. All of it works without this script too.
"use strict";

// A run: new stages as they come. Without the script the page reloads itself every two seconds.
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
    const cost = document.getElementById("cost");
    if (cost) cost.textContent = told.cost;
  };
}

// A plan: the forecast of what is typed. Without the script a button gets it.
const plan = document.getElementById("plan");
if (plan) {
  const shown = document.getElementById("forecast");
  let waiting = 0;
  let asked = null;
  const ask = async () => {
    const fields = new URLSearchParams(new FormData(plan));
    fields.delete("form_token");
    if (asked) asked.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(plan.dataset.forecast + "?" + fields, { signal: asked.signal });
      const piece = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.ok) shown.replaceChildren(...piece.body.childNodes);
    } catch (problem) {
      if (problem.name !== "AbortError") shown.textContent = "No forecast: the page cannot be reached.";
    }
  };
  plan.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 300);
  });
}

// A schema: a box that ticks all, and how many are ticked.
const bulk = document.getElementById("bulk");
if (bulk) {
  const boxes = [...document.querySelectorAll("tbody input[type=checkbox]")];
  const all = document.createElement("input");
  all.type = "checkbox";
  all.setAttribute("aria-label", "Tick all that are shown");
  document.querySelector("thead th").replaceChildren(all);
  const count = () => {
    const ticked = boxes.filter((one) => one.checked).length;
    document.getElementById("ticked").textContent = "(" + ticked + ")";
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  };
  all.addEventListener("change", () => {
    for (const one of boxes) one.checked = all.checked;
    count();
  });
  for (const one of boxes) one.addEventListener("change", count);
  count();
}

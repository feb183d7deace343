// What pages do beyond what they do without a script: bring their live parts up to date, tell times in the reader's zone, copy,
// select all, and answer keys. No live part has a control in it, so nothing is ever swapped under a hand.
"use strict";

const each = (selector, run, root = document) => root.querySelectorAll(selector).forEach(run);

// Live parts: elements with an id and data-live. They are taken from the page as it is now, unless somebody is at work in them.
const busy = (part) => {
  const selection = getSelection();
  return part.contains(document.activeElement) ||
    (!selection.isCollapsed && (part.contains(selection.anchorNode) || part.contains(selection.focusNode)));
};

const refresh = async () => {
  const answer = await fetch(location.href, { headers: { "X-Requested-With": "refresh" }, redirect: "error" });
  if (!answer.ok) throw new Error(answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  each("[data-live]", (part) => {
    const now = page.getElementById(part.id);
    if (!now || busy(part) || now.innerHTML === part.dataset.was) return;
    part.dataset.was = now.innerHTML;
    part.replaceChildren(...now.childNodes);
    times(part);
  });
  return Number(page.body.dataset.refresh);
};

// It goes on until the page as it is now asks for no more: that of a job that has ended does not.
let failures = 0;
const keepFresh = (seconds) => {
  const again = () => setTimeout(async () => {
    if (document.hidden) return again();
    try {
      if (!await refresh()) return;
      failures = 0;
      document.body.classList.remove("offline");
    } catch {
      failures++;
      if (failures > 1) document.body.classList.add("offline");
    }
    again();
  }, seconds * 1000 * Math.min(8, 2 ** failures));
  again();
};

// Times: the address of a moment is UTC; its title tells it here, and how long ago it is.
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const ago = (at) => {
  const seconds = (at - Date.now()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units[3];
  return relative.format(Math.round(seconds / size), unit);
};
const times = (root) => each("time[datetime]", (t) => {
  const at = new Date(t.dateTime);
  if (isNaN(at)) return;
  t.title = `${at.toLocaleString()} here, ${ago(at)}`;
  if (t.dataset.ago !== undefined) t.textContent = ago(at);
}, root);

// Copy: by the clipboard, or on plain HTTP by a selection.
const copy = async (button) => {
  const from = button.parentElement.querySelector("pre, .id, code");
  try {
    await navigator.clipboard.writeText(from.textContent);
  } catch {
    getSelection().selectAllChildren(from);
    document.execCommand("copy");
  }
  const text = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = text; }, 1500);
};

// Select all: a box at the head of a form's table sets those below it.
const selectAll = (box) => {
  const boxes = () => [...box.closest("form").querySelectorAll("tbody input[type=checkbox]")];
  box.addEventListener("change", () => boxes().forEach((b) => { b.checked = box.checked; }));
  box.closest("form").addEventListener("change", () => {
    const on = boxes().filter((b) => b.checked).length;
    box.checked = on > 0 && on === boxes().length;
    box.indeterminate = on > 0 && !box.checked;
  });
};

// Keys. None of them does anything but lead somewhere.
const places = { o: "/", p: "/pools", s: "/sequences", j: "/jobs", a: "/audit", c: "/credentials", i: "/about" };
let going = 0;
const keys = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const find = document.querySelector(".find input");
  if (event.key === "/" && find) find.focus();
  else if (event.key === "r" && document.querySelector("[data-live]")) refresh().catch(() => {});
  else if (event.key === "?") location.assign("/help");
  else if (event.key === "g") { going = Date.now(); return; }
  else if (Date.now() - going < 1500 && places[event.key]) location.assign(places[event.key]);
  else return;
  event.preventDefault();
};

// A form is sent once: what a second press would send is what the first has sent.
const once = (form) => form.addEventListener("submit", (event) => {
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
  each("button[type=submit]", (b) => b.setAttribute("aria-disabled", "true"), form);
});

times(document);
each(".copy", (b) => { b.hidden = false; b.addEventListener("click", () => copy(b)); });
each("input[data-all]", selectAll);
each("form[method=post]", once);
addEventListener("pageshow", (event) => { if (event.persisted) each("form[method=post]", (f) => { delete f.dataset.sent; each("button", (b) => b.removeAttribute("aria-disabled"), f); }); });
document.addEventListener("keydown", keys);
const seconds = Number(document.body.dataset.refresh);
if (seconds > 0 && document.querySelector("[data-live]")) keepFresh(seconds);

// What pages do beyond what they do without a script: bring their live parts up to date, tell times in the reader's zone, copy, and
// answer keys. Nothing is ever swapped under a hand.
"use strict";

const each = (selector, run, root = document) => root.querySelectorAll(selector).forEach(run);

// Live parts: elements with an id and data-live. They are taken from the page as it is now, all of them or none, so that what the page is "as of"
// holds for all of it. None is while somebody is at work in one, by the focus or by a selection; nor while the pointer is on one, or on anything
// below that can be pressed, since a part that grows moves it.
const inLive = (node) => (node?.closest ? node : node?.parentElement)?.closest("[data-live]");
const atWork = () => {
  const selection = getSelection();
  return inLive(document.activeElement) || (!selection.isCollapsed && (inLive(selection.anchorNode) || inLive(selection.focusNode)));
};
const pointed = () => {
  const first = document.querySelector("main [data-live]:not(#live-asof)");
  const under = [...document.querySelectorAll("main :is([data-live], a, button, input, select, textarea, summary):hover")].pop();
  return first && under && (first === under || first.compareDocumentPosition(under) & Node.DOCUMENT_POSITION_FOLLOWING);
};

// refresh returns in how many seconds the page wants to be asked for again, 0 for never. asked says that somebody wants it now, wherever
// the pointer is.
const refresh = async (asked) => {
  const held = () => atWork() || (!asked && pointed());
  if (held()) return Number(document.body.dataset.refresh);
  const answer = await fetch(location.href, { headers: { "X-Requested-With": "refresh" }, redirect: "error" });
  if (answer.status === 401) location.reload(); // the session is over: the way back here is by the sign-in
  if (!answer.ok) throw new Error(answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (held()) return Number(document.body.dataset.refresh);
  each("[data-live]", (part) => {
    const now = page.getElementById(part.id);
    if (!now || now.innerHTML === part.dataset.was) return;
    part.dataset.was = now.innerHTML;
    part.replaceChildren(...now.childNodes);
    times(part);
  });
  if (!page.querySelector(".asof a")) each(".asof > :not(#live-asof)", (e) => e.remove()); // there is nothing to wait for any more
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

// Times stand in UTC, with how far away they were when the page was made. The title tells them in the reader's zone.
const times = (root) => each("time[datetime]", (t) => {
  const at = new Date(t.dateTime);
  if (!isNaN(at)) t.title = `${at.toLocaleString()} here`;
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

// Keys. None of them does anything but lead somewhere. They can be switched off on the page of help, for this browser: who speaks to it, or has an
// unsteady hand, presses keys that were not meant.
const keyless = {
  name: "idpool-no-keys",
  get on() { try { return localStorage.getItem(this.name) !== null; } catch { return false; } },
  set on(is) { is ? localStorage.setItem(this.name, "1") : localStorage.removeItem(this.name); },
};
const showKeys = () => document.body.classList.toggle("keyless", keyless.on);
const keySwitch = (box) => {
  box.closest("[hidden]").hidden = false;
  box.checked = !keyless.on;
  box.addEventListener("change", () => {
    try { keyless.on = !box.checked; } catch { box.checked = true; } // a browser that keeps nothing
    showKeys();
  });
};
const places = { o: "/", p: "/pools", s: "/sequences", j: "/jobs", a: "/audit", c: "/credentials", i: "/about" };
let going = 0;
const keys = (event) => {
  if (keyless.on || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  const find = document.querySelector(".find input");
  if (event.key === "/" && find) find.focus();
  else if (event.key === "r" && document.querySelector("[data-live]")) refresh(true).catch(() => {});
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
showKeys();
each("#keys-on", keySwitch);
each("form[method=post]", once);
addEventListener("pageshow", (event) => { if (event.persisted) each("form[method=post]", (f) => { delete f.dataset.sent; each("button", (b) => b.removeAttribute("aria-disabled"), f); }); });
document.addEventListener("keydown", keys);
const seconds = Number(document.body.dataset.refresh);
if (seconds > 0 && document.querySelector("[data-live]")) keepFresh(seconds);

// Progress without reloading: everything else works without this file.
"use strict";
for (const watched of document.querySelectorAll("[data-job]")) {
  const bar = watched.querySelector("progress");
  const status = watched.querySelector("[role=status]");
  const picture = watched.querySelector("[data-picture]");
  const source = new EventSource("/jobs/" + watched.dataset.job + "/events");
  let parts = -1;
  let asked = 0;
  let waiting = null;
  // Whoever is inside of the picture keeps their place: it is replaced when they leave it.
  const show = () => {
    if (waiting === null || picture.contains(document.activeElement)) return;
    const open = picture.querySelector("details[open]") !== null;
    picture.innerHTML = waiting;
    waiting = null;
    if (open) picture.querySelector("details")?.setAttribute("open", "");
  };
  if (picture) picture.addEventListener("focusout", () => setTimeout(show, 0));
  source.onmessage = (event) => {
    const job = JSON.parse(event.data);
    if (bar) bar.value = job.share;
    if (status) status.textContent = job.words;
    if (picture && job.parts !== parts) {
      parts = job.parts;
      const number = ++asked;
      fetch(picture.dataset.picture).then((answer) => answer.text()).then((text) => {
        if (number === asked) {
          waiting = text;
          show();
        }
      });
    }
    if (job.over) {
      source.close();
      if (watched.dataset.then) location.replace(watched.dataset.then);
      else for (const gone of watched.querySelectorAll("[data-while]")) gone.hidden = true;
    }
  };
}

// The icons: outlines of 24 by 24, drawn with the colour of the text beside them. Always beside a word, or with a label.

import { html } from "../vendor/preact.js";

const PATHS = {
  inbox: "M3 13h5l2 3h4l2-3h5M5 5h14l2 8v6H3v-6z",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2",
  alert: "M12 4 2.5 20h19zM12 10v5M12 17.5v.5",
  chart: "M4 20V10M10 20V4M16 20v-8M21 20H3",
  phone: "M8 2h8a1.5 1.5 0 0 1 1.5 1.5v17A1.5 1.5 0 0 1 16 22H8a1.5 1.5 0 0 1-1.5-1.5v-17A1.5 1.5 0 0 1 8 2zM11 19h2",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-4 3-6 6.5-6s6.5 2 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2.2.8 3.5 2.6 3.5 5.5",
  spark: "M12 3l1.9 5.6L19.5 10.500l-5.6 1.9L12 18l-1.900-5.600L4.500 10.500l5.600-1.900z",
  person: "M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4.500 3.500-7 8-7s8 2.500 8 7",
  pen: "M4 20l1-4L16 5l3 3L8 19z",
  send: "M4 12l16-8-5 16-3-7z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  close: "M6 6l12 12M18 6L6 18",
  back: "M15 5l-7 7 7 7",
  down: "M6 9l6 6 6-6",
  check: "M5 12.500l4.500 4.500L19 7.500",
  checks: "M2 12.500l4.500 4.500L15 8M10 15l2 2 9-9.500",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  reply: "M10 6L4 12l6 6M4 12h9a7 7 0 0 1 7 7",
  note: "M5 4h14v11l-5 5H5zM14 20v-5h5",
  label: "M4 4h8l8 8-8 8-8-8zM8 8h.01",
  retry: "M20 12a8 8 0 1 1-2.500-5.800M20 3v4.500h-4.500",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  key: "M14.500 9.500a4 4 0 1 0-3 4l1.500 1.500h2v2h2v2h3v-3z",
  link: "M9 15l6-6M8 11l-2 2a4 4 0 0 0 5.600 5.600l2-2M16 13l2-2a4 4 0 0 0-5.600-5.600l-2 2",
  eye: "M2 12s3.500-6.500 10-6.500S22 12 22 12s-3.500 6.500-10 6.500S2 12 2 12zM12 9.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z",
  out: "M14 4h6v16h-6M10 8l-4 4 4 4M6 12h10",
  plus: "M12 5v14M5 12h14",
  pause: "M8 5v14M16 5v14",
  hand: "M7 12V6.500a1.500 1.500 0 0 1 3 0V11V4.500a1.500 1.500 0 0 1 3 0V11V5.500a1.500 1.500 0 0 1 3 0V12V8a1.500 1.500 0 0 1 3 0v7a6 6 0 0 1-6 6h-1.500c-2 0-3.500-1-4.500-2.500L3.500 14a1.500 1.500 0 0 1 2.500-1.500z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  clip: "M19.500 11.500l-7.500 7.500a5 5 0 0 1-7-7l8-8a3.300 3.300 0 0 1 4.700 4.700l-8 8a1.700 1.700 0 0 1-2.400-2.400l7.400-7.400",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  filter: "M4 6h16M7 12h10M10 18h4",
  panel: "M4 5h16v14H4zM14 5v14",
  undo: "M8 5L4 9l4 4M4 9h10a6 6 0 0 1 0 12h-3",
  moon: "M19.500 14.500A8 8 0 0 1 9.500 4.500a8 8 0 1 0 10 10z",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 4M15.500 9h.01",
  film: "M4 6h11v12H4zM15 10.500l5-3v9l-5-3z",
  voice: "M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM5.500 11a6.500 6.500 0 0 0 13 0M12 17.500V21",
  pin: "M12 21s-7-6-7-11.500a7 7 0 0 1 14 0C19 15 12 21 12 21zM12 7.500a2.300 2.300 0 1 0 0 4.600 2.300 2.300 0 0 0 0-4.600z",
  question: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 17.500v.5M12 2.500a9.500 9.500 0 1 0 0 19 9.500 9.500 0 0 0 0-19z",
  bolt: "M13 2.500L5 13.500h6l-1 8 8-11h-6z",
  up: "M6 15l6-6 6 6",
  mail: "M3 6h18v12H3zM3 7l9 6 9-6",
};

/** @typedef {keyof typeof PATHS} IconName */

/** @param {{name: IconName, label?: string}} props with a label it is read out; without, it is hidden from readers */
export function Icon({ name, label }) {
  return html`<svg class="icon" viewBox="0 0 24 24" role=${label ? "img" : undefined} aria-label=${label}
    aria-hidden=${label ? undefined : "true"}><path d=${PATHS[name]} /></svg>`;
}

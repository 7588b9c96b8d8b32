// The drawing of a plot: lines of its scale, and bars that stand on each other or lines through points. Only shapes: what they
// say is said beside them.

import { html, useId } from "../../vendor/preact.js";
import { lines, named } from "./scale.js";

/** @import { PlotProps, Series } from "./plot.js" */

const LEFT = 52;
const RIGHT = 4;
const TOP = 8;
const BOTTOM = 24;
/** A name along the plot takes about so much. */
const NAME = 54;
/** Of its place, a bar takes so much. */
const BAR = 0.72;

/** @param {PlotProps & {width: number, height: number, at: number | null, onLook: (at: number | null) => void}} props */
export function Drawing({ series, places, kind, scale, axis, width, height, at, onLook }) {
  const id = useId();
  const sums = places.map((_, place) => series.reduce((sum, { values }) => (kind === "bars" ? sum + (values[place] ?? 0) : Math.max(sum, values[place] ?? 0)), 0));
  const marks = lines(Math.max(...sums), scale);
  const top = marks[marks.length - 1];
  const inner = width - LEFT - RIGHT;
  const step = inner / places.length;
  const floor = height - BOTTOM;
  const x = (/** @type {number} */ place) => LEFT + (place + 0.5) * step;
  const y = (/** @type {number} */ value) => floor - (value / top) * (floor - TOP);
  /** @param {PointerEvent} event */
  function look(event) {
    const shown = /** @type {SVGElement} */ (event.currentTarget).getBoundingClientRect();
    const place = Math.floor((event.clientX - shown.left - LEFT) / step);
    onLook(place >= 0 && place < places.length ? place : null);
  }
  return html`<svg class="drawing" width=${width} height=${height} aria-hidden="true" onPointerMove=${look} onPointerDown=${look}>
    <${Textures} id=${id} />
    ${at !== null && html`<rect class="looked" x=${LEFT + at * step} y=${TOP} width=${step} height=${floor - TOP} />`}
    ${marks.map((mark) => html`<g key=${mark}>
      <line class=${mark === 0 ? "base" : "mark-line"} x1=${LEFT} x2=${width - RIGHT} y1=${y(mark)} y2=${y(mark)} />
      <text class="mark-name" x=${LEFT - 6} y=${y(mark)} text-anchor="end" dominant-baseline="middle">${axis(mark)}</text>
    </g>`)}
    ${named(places.length, inner, NAME).map((place) => html`<text key=${place} class="mark-name" x=${x(place)} y=${height - 6} text-anchor="middle">${places[place].short}</text>`)}
    ${kind === "bars"
      ? places.map((_, place) => html`<${Bar} key=${place} id=${id} series=${series} place=${place} x=${x(place)} y=${y} width=${Math.max(2, step * BAR)} />`)
      : series.map((one) => html`<${Line} key=${one.words} one=${one} x=${x} y=${y} />`)}
  </svg>`;
}

/** Drawn over a colour in the colour of the page. @param {{id: string}} props */
function Textures({ id }) {
  return html`<defs>
    <pattern id="${id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="texture" x1="0" y1="0" x2="0" y2="6" /></pattern>
    <pattern id="${id}-dots" width="5" height="5" patternUnits="userSpaceOnUse"><circle class="texture-dot" cx="2.5" cy="2.5" r="1.1" /></pattern>
  </defs>`;
}

/** @param {{id: string, series: Series[], place: number, x: number, y: (value: number) => number, width: number}} props */
function Bar({ id, series, place, x, y, width }) {
  let sum = 0;
  return html`<g>${series.map(({ words, values, colour, texture }) => {
    const value = values[place] ?? 0;
    if (value <= 0) return null;
    const box = { x: x - width / 2, y: y(sum + value), width, height: Math.max(1, y(sum) - y(sum + value)) };
    sum += value;
    return html`<g key=${words} class="in-${colour}"><rect class="segment" ...${box} />
      ${texture && html`<rect ...${box} fill="url(#${id}-${texture})" />`}</g>`;
  })}</g>`;
}

/** A line with a gap where nothing is known. @param {{one: Series, x: (place: number) => number, y: (value: number) => number}} props */
function Line({ one, x, y }) {
  /** @type {[number, number][]} */
  const points = one.values.flatMap((value, place) => (value === null ? [] : [[place, value]]));
  const path = points.map(([place, value], nth) => `${nth > 0 && points[nth - 1][0] === place - 1 ? "L" : "M"}${x(place)} ${y(value)}`).join("");
  return html`<g class="in-${one.colour} line ${one.texture ? `has-${one.texture}` : ""}">
    <path d=${path} />
    ${points.map(([place, value]) => (one.texture
      ? html`<rect key=${place} x=${x(place) - 3} y=${y(value) - 3} width="6" height="6" />`
      : html`<circle key=${place} cx=${x(place)} cy=${y(value)} r="3.2" />`))}
  </g>`;
}

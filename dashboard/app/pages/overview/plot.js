// A plot: what it shows and how much in all, its drawing, and the same as a table. By mouse or by arrow keys each place of it
// tells its numbers.

import { html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { t } from "../../words/index.js";
import { Drawing } from "./plot_drawing.js";

/**
 * @typedef {{words: string, values: (number | null)[], colour: string, texture?: "hatch" | "dots" | "dashes", sum?: string}} Series
 *   `colour` is one of the design's; a texture tells it from its neighbours without colour. `sum` stands in the legend.
 * @typedef {{
 *   title: string, about?: any, series: Series[], places: {short: string, whole: string}[],
 *   kind: "bars" | "lines", scale: "count" | "amount" | "time", told: (value: number) => string, axis: (value: number) => string,
 *   head: string, none: string,
 * }} PlotProps `places` are what stands along it, `head` what they are; `told` says a number, `axis` says it short
 */

const HEIGHT = 176;

/** @param {PlotProps} props */
export function Plot(props) {
  const { title, about, series, places, none } = props;
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const width = useSignal(0);
  /** Which place is looked at. */
  const at = useSignal(/** @type {number | null} */ (null));
  useEffect(() => {
    const shown = frame.current;
    if (!shown) return;
    const observer = new ResizeObserver(([entry]) => (width.value = Math.floor(entry.contentRect.width)));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  const isEmpty = series.every(({ values }) => values.every((value) => !value));
  const place = at.value !== null && at.value < places.length ? at.value : null;

  /** @param {KeyboardEvent} event */
  function key(event) {
    const last = places.length - 1;
    const from = place ?? (event.key === "ArrowRight" ? -1 : last + 1);
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") at.value = null;
    if (to === undefined) return;
    event.preventDefault();
    at.value = Math.min(last, Math.max(0, to));
  }
  return html`<figure class="plot">
    <figcaption><h3>${title}</h3>${about && html`<p class="hint">${about}</p>`}</figcaption>
    ${isEmpty ? html`<p class="plot-none">${none}</p>` : html`
      <${Legend} series=${series} kind=${props.kind} />
      <div class="plot-frame" ref=${frame} role="slider" tabindex="0" aria-label=${t("plot.of", { title })}
          aria-valuemin="1" aria-valuemax=${places.length} aria-valuenow=${(place ?? places.length - 1) + 1}
          aria-valuetext=${valueText(props, place ?? places.length - 1)}
          onKeyDown=${key} onFocus=${() => (at.value ??= places.length - 1)} onBlur=${() => (at.value = null)} onPointerLeave=${() => (at.value = null)}>
        ${width.value > 0 && html`<${Drawing} ...${props} width=${width.value} height=${HEIGHT} at=${place} onLook=${(/** @type {number | null} */ to) => (at.value = to)} />`}
        ${place !== null && html`<${Tip} ...${props} at=${place} width=${width.value} />`}
      </div>
      <details class="plot-table"><summary>${t("plot.table")}<span class="unseen">: ${title}</span></summary><${Numbers} ...${props} /></details>`}
  </figure>`;
}

/** What a place says, in one sentence. @param {PlotProps} props @param {number} at */
function valueText({ series, places, told }, at) {
  const parts = series.map(({ words, values }) => `${words} ${values[at] === null || values[at] === undefined ? t("plot.unknown") : told(Number(values[at]))}`);
  return `${places[at]?.whole}: ${parts.join(", ")}`;
}

/** @param {{series: Series[], kind: PlotProps["kind"]}} props */
function Legend({ series, kind }) {
  if (series.length === 1) return null;
  return html`<ul class="legend">
    ${series.map(({ words, colour, texture, sum }) => html`<li key=${words}>
      <svg class="swatch in-${colour} ${texture ? `has-${texture}` : ""} is-${kind}" viewBox="0 0 16 12" aria-hidden="true">
        ${kind === "bars" ? html`<rect width="16" height="12" rx="2" />${texture && html`<path class="texture" d=${texture === "dots" ? "M4 4h.01M8 8h.01M12 4h.01" : "M1 11L11 1M7 11L15 3"} />`}`
          : html`<path d="M0 6H16" /><circle cx="8" cy="6" r="3" />`}
      </svg>
      <span>${words}</span>${sum && html` <strong class="number">${sum}</strong>`}
    </li>`)}
  </ul>`;
}

/** The numbers of the place that is looked at. @param {PlotProps & {at: number, width: number}} props */
function Tip({ series, places, told, at, width }) {
  const share = (at + 0.5) / places.length;
  // Kept inside the plot: at the right half it stands at the left of its place.
  return html`<div class="plot-tip ${share > 0.5 ? "is-left" : ""}" aria-hidden="true" style=${{ "--at": `${Math.round(share * width)}px` }}>
    <p class="plot-tip-head">${places[at].whole}</p>
    ${series.map(({ words, values, colour }) => html`<p key=${words} class="in-${colour}"><span class="key"></span>${words}
      <strong>${values[at] === null || values[at] === undefined ? t("plot.unknown") : told(Number(values[at]))}</strong></p>`)}
  </div>`;
}

/** @param {PlotProps} props */
function Numbers({ title, series, places, told, head }) {
  return html`<div class="rows" role="region" aria-label=${title} tabindex="0"><table>
    <thead><tr><th scope="col">${head}</th>${series.map(({ words }) => html`<th key=${words} scope="col" class="is-number">${words}</th>`)}</tr></thead>
    <tbody>${places.map((place, at) => html`<tr key=${place.whole}>
      <th scope="row">${place.whole}</th>
      ${series.map(({ words, values }) => html`<td key=${words} class="is-number">${values[at] === null || values[at] === undefined ? t("plot.unknown") : told(Number(values[at]))}</td>`)}
    </tr>`)}</tbody>
  </table></div>`;
}

// A list on a page: rows with their heads, or in words why there are none yet.

import { html, useEffect, useRef } from "../vendor/preact.js";
import { t } from "../words/index.js";
import { problemText } from "../parts/toast.js";

/** @import { Problem } from "../wire/api.js" */
/** @import { Listed } from "../parts/asked.js" */

/**
 * @template T
 * @typedef {{words: string, cell: (item: T) => any, look?: string, isHead?: boolean}} Column
 *   `isHead`: it names its row.
 */

/**
 * Rows and columns; on a phone each row is a card, and each cell has its head before it.
 * @param {{label: string, columns: Column<any>[], items: any[], id: (item: any) => string, look?: (item: any) => string, isStop?: boolean}} props
 *   `isStop`: nothing in it takes the focus, so that it has to itself, or keys would not scroll it
 */
export function Table({ label, columns, items, id, look, isStop }) {
  // The roles are said again because a table that is laid out as cards is none to a reader any more.
  return html`<div class="rows" role="region" aria-label=${label} tabindex=${isStop ? 0 : undefined}>
    <table class="cards" role="table">
      <thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col" class=${column.look}>${column.words}</th>`)}</tr></thead>
      <tbody role="rowgroup">
        ${items.map((item) => html`<tr role="row" key=${id(item)} class=${look?.(item)}>
          ${columns.map((column) => column.isHead
            ? html`<th role="rowheader" scope="row" class="is-head ${column.look ?? ""}">${column.cell(item)}</th>`
            : html`<td role="cell" class=${column.look} data-head=${column.words}>${column.cell(item)}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}

/**
 * What stands where a list will be: that it is being loaded, why it could not be, that there is nothing, or the list.
 * @param {{listed: Listed<any>, empty: any, missing?: string, children: (items: any[]) => any}} props
 *   `missing` is said of a server that has no such thing at all.
 */
export function Listing({ listed, empty, missing, children }) {
  const { items, problem } = listed;
  const place = usePlace(items);
  if (problem?.isNotThere && missing) return html`<p class="empty">${missing}</p>`;
  if (!items) return problem ? html`<${Failed} problem=${problem} again=${listed.again} />` : html`<p class="waiting" role="status">${t("loading")}</p>`;
  return html`<div class="listing" ...${place}>
    ${problem && html`<${Failed} problem=${problem} again=${listed.again} />`}
    ${items.length === 0 ? html`<div class="empty card">${empty}</div>` : children(items)}
    ${listed.hasMore && html`<p class="more"><button onClick=${listed.more}>${t("more")}</button></p>`}
  </div>`;
}

const ROWS = "tbody > tr, .entries > li";

/**
 * Keeps people who use the keyboard where they were: when the row with the focus goes away, the one that takes its place has it;
 * when there is none left, the heading of the page.
 * @param {any[] | null} items
 */
function usePlace(items) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const at = useRef(-1);
  const rows = () => [...(list.current?.querySelectorAll(ROWS) ?? [])];
  useEffect(() => {
    if (at.current < 0 || document.activeElement !== document.body) return;
    const left = rows();
    const row = left[Math.min(at.current, left.length - 1)];
    const heading = list.current?.parentElement?.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    const next = row?.querySelector("button, a[href], summary") ?? heading;
    if (next instanceof HTMLElement) next.focus();
  }, [items]);
  return {
    ref: list,
    onFocusIn: (/** @type {FocusEvent} */ event) => {
      at.current = rows().findIndex((row) => event.target instanceof Node && row.contains(event.target));
    },
  };
}

/** Why something could not be loaded, and the button that tries again. @param {{problem: Problem, again: () => void}} props */
export function Failed({ problem, again }) {
  return html`<p class="failed" role="alert"><span>${problemText(problem)}</span><button onClick=${again}>${t("retry")}</button></p>`;
}

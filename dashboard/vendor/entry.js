// What the dashboard uses of others' work: this is the whole list.
import htm from "htm";
import { h } from "preact";

export { render, h, Fragment, createContext } from "preact";
export { useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export const html = htm.bind(h);

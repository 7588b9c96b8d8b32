export { render, h, Fragment, createContext } from "preact";
export type { ComponentChildren, VNode, RefObject } from "preact";
export {
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export type { ReadonlySignal, Signal } from "@preact/signals";
import type { VNode } from "preact";
export const html: (strings: TemplateStringsArray, ...values: any[]) => VNode;

// What no event tells is asked for again now and then.

import { useEffect, useRef } from "../vendor/preact.js";
import { minute } from "../parts/now.js";

/** Once a minute, without anybody noticing. @param {() => void} again */
export function useEachMinute(again) {
  const isFirst = useRef(true);
  useEffect(() => {
    // Shown just now, it has just been asked.
    if (!isFirst.current) again();
    isFirst.current = false;
  }, [minute.value]);
}

import { observeWindowOffset, observeWindowRect, Virtualizer, windowScroll } from '@tanstack/virtual-core';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/** Rows beyond the edges of the window. More: slower scrolling. Fewer: blank rows when scrolling fast. */
const OVERSCAN = 8;

interface VirtualListProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  /** Pixels. */
  heightOf(row: Row): number;
  render(row: Row): JSX.Element;
  /** Scroll position in pixels to restore on return. */
  readonly top?: number | null;
  /** Key of the row to scroll into view when it changes; null: none. */
  readonly revealed?: string | null;
  /** Called when the last rows become visible, and after every change until more rows are added. */
  onEnd(): void;
}

/** A list that scrolls with the window and renders only the visible rows. */
export const VirtualList = <Row,>(props: VirtualListProps<Row>): JSX.Element => {
  const { label, rows, keyOf, heightOf, render, onEnd, revealed = null, top = null } = props;
  const element = useRef<HTMLUListElement>(null);
  const [, draw] = useState({});
  const options = {
    count: rows.length,
    getScrollElement: () => window,
    estimateSize: (index: number) => {
      const row = rows[index];
      return row === undefined ? 0 : heightOf(row);
    },
    getItemKey: (index: number) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    overscan: OVERSCAN,
    scrollMargin: element.current === null ? 0 : element.current.getBoundingClientRect().top + window.scrollY,
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    onChange: () => draw({}),
  };
  const [virtualizer] = useState(() => new Virtualizer<Window, HTMLLIElement>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  const heights = rows[0] === undefined ? 0 : heightOf(rows[0]);
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, heights, rows.length]);

  useLayoutEffect(() => {
    if (top !== null) scrollTo(0, top);
  }, []);
  const revealedAt = useMemo(
    () => (revealed === null ? -1 : rows.findIndex((row) => keyOf(row) === revealed)),
    [revealed, rows],
  );
  useEffect(() => {
    if (revealedAt >= 0) virtualizer.scrollToIndex(revealedAt, { align: 'auto' });
  }, [revealed]);

  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? -1;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - OVERSCAN) onEnd();
  });

  return (
    <ul ref={element} class="virtual" aria-label={label} style={{ height: `${virtualizer.getTotalSize()}px` }}>
      {shown.map(({ index, key, start }) => {
        const row = rows[index];
        if (row === undefined) return null;
        return (
          <li
            key={String(key)}
            style={{
              transform: `translateY(${start - virtualizer.options.scrollMargin}px)`,
              height: `${heightOf(row)}px`,
            }}
          >
            {render(row)}
          </li>
        );
      })}
    </ul>
  );
};

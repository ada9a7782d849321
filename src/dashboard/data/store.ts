import { useEffect, useState } from 'preact/hooks';

/** An observable value shared by parts of a screen. */
interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export const createStore = <T>(initial: T): Store<T> => {
  let current = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set: (value) => {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

/** Reads the current value and renders again when it changes. */
export const useStore = <T>(store: Store<T>): T => {
  const [, render] = useState({});
  const shown = store.get();
  useEffect(() => {
    if (!Object.is(store.get(), shown)) render({}); // effects of child components run first and may have changed it
    return store.subscribe(() => render({}));
  }, [store]);
  return shown;
};

/** Display preferences, stored in the browser. */

type Theme = 'system' | 'light' | 'dark';
type Zone = 'local' | 'UTC';

const kept = <T extends string>(name: string, values: readonly [T, ...T[]]): Store<T> => {
  const found = localStorage.getItem(name);
  const store = createStore<T>(values.find((value) => value === found) ?? values[0]);
  store.subscribe(() => localStorage.setItem(name, store.get()));
  return store;
};

export const theme = kept<Theme>('outbox-theme', ['system', 'light', 'dark']);
/** Single-letter shortcuts. */
export const letters = kept<'on' | 'off'>('outbox-letters', ['on', 'off']);
export const zone = kept<Zone>('outbox-zone', ['local', 'UTC']);

const showTheme = (): void => {
  document.documentElement.dataset.theme = theme.get();
};
theme.subscribe(showTheme);
showTheme();

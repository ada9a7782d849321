import { useEffect, useState } from 'preact/hooks';

/** An observable value shared by parts of a screen. */
export interface Store<T> {
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

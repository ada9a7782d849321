import { createStore, type Store } from './store.ts';

/** Display preferences, stored in the browser. */

export type Theme = 'system' | 'light' | 'dark';
export type Zone = 'local' | 'UTC';

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

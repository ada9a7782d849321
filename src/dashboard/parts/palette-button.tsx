import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { linkTo, navigate } from '../data/location.ts';
import { mayPress } from '../data/shortcuts.ts';
import { Icon } from './icons.tsx';
import type { ListedScreen, PaletteProps } from './palette.tsx';

/** Screens by the letter that follows G. */
const PLACES: Readonly<Record<string, string>> = {
  o: '',
  m: '/messages',
  e: '/events',
  s: '/statistics',
  t: '/templates',
  k: '/keys',
  r: '/requests',
  w: '/webhooks',
  d: '/domains',
  l: '/delivery',
  u: '/suppressions',
  i: '/inbox',
  a: '/audit',
  b: '/billing',
  ',': '/settings',
};
/** Longest pause between G and the letter. */
const PAUSE_MS = 1_500;

/** Letters by screen. */
const LETTERS = new Map(Object.entries(PLACES).map(([letter, path]) => [path, letter.toUpperCase()]));

const isSearch = ({ metaKey, ctrlKey, key }: KeyboardEvent): boolean => (metaKey || ctrlKey) && key === 'k';

/** Resolves G and a letter to a screen; undefined: no screen. */
const createGoing = (): ((key: string) => string | undefined) => {
  let until = 0;
  return (key) => {
    const place = Date.now() < until ? PLACES[key] : undefined;
    until = key === 'g' ? Date.now() + PAUSE_MS : 0;
    return place;
  };
};

export interface PaletteControl {
  open(): void;
  /** Rendered outside the parts that small windows hide. */
  readonly shown: JSX.Element | null;
}

/** Opens the palette with ⌘K and the list of shortcuts with `?`. G and a letter go to a screen. */
export const usePalette = (screens: readonly ListedScreen[]): PaletteControl => {
  const [opened, open] = useState<PaletteProps['opened'] | null>(null);
  const [loaded, setLoaded] = useState<{ readonly Palette: ComponentType<PaletteProps> } | null>(null);
  const [placeOf] = useState(createGoing);
  const show = (list: PaletteProps['opened']['list']): void => {
    open({ list });
    if (loaded === null) void import('./palette.tsx').then(setLoaded);
  };
  useEffect(() => {
    const pressLetter = (event: KeyboardEvent): void => {
      const place = placeOf(event.key);
      if (event.key === '?') show('keys');
      if (place === undefined) return;
      event.stopImmediatePropagation();
      navigate(linkTo(place));
    };
    const press = (event: KeyboardEvent): void => {
      if (mayPress(event)) pressLetter(event);
      if (!isSearch(event)) return;
      event.preventDefault();
      show('search');
    };
    // Registered on capture to run before the screen's shortcuts, whose letters mean screens after G.
    addEventListener('keydown', press, true);
    return () => removeEventListener('keydown', press, true);
  });
  return {
    open: () => show('search'),
    shown:
      opened === null || loaded === null ? null : (
        <loaded.Palette
          opened={opened}
          screens={screens}
          letterOf={(path) => LETTERS.get(path)}
          close={() => open(null)}
        />
      ),
  };
};

export const PaletteButton = ({ open }: Pick<PaletteControl, 'open'>): JSX.Element => (
  <button type="button" class="find" onClick={open}>
    <Icon name="search" />
    <span>Search or jump to</span>
    <kbd>⌘</kbd>
    <kbd>K</kbd>
  </button>
);

import type { ComponentChildren, ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Avatar, Icon, type IconName } from '../components/icons.tsx';
import { Notice, sentenceOf } from '../components/states.tsx';
import { type Access, useAccess, useAllowed } from '../data/access.ts';
import { useAttentionCounts } from '../data/attention.ts';
import { keys, session } from '../data/credentials.ts';
import { liveness } from '../data/live.ts';
import { environmentOf, linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { readAgain, unread } from '../data/queries.ts';
import { signOut } from '../data/session.ts';
import { mayPress } from '../data/shortcuts.ts';
import { theme, useStore, zone } from '../data/store.ts';
import { useTimes } from '../data/time.ts';
import { SCREENS, type Screen } from '../screens.tsx';
import { NoAccess } from './no-access.tsx';
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
  n: '/inbound',
  a: '/audit',
  b: '/billing',
  ',': '/settings',
};
/** Longest pause between G and the letter. */
const PAUSE_MS = 1_500;

/** Letters by screen. */
const LETTERS = new Map(Object.entries(PLACES).map(([letter, path]) => [path, letter.toUpperCase()]));

const isSearch = ({ metaKey, ctrlKey, key }: KeyboardEvent): boolean => (metaKey || ctrlKey) && key === 'k';

/** Resolves G and a letter to a screen by the times of the keys, however late they are handled; undefined: no screen. */
const createGoing = (): ((event: KeyboardEvent) => string | undefined) => {
  let until = 0;
  return ({ key, timeStamp }) => {
    const place = timeStamp < until ? PLACES[key] : undefined;
    until = key === 'g' ? timeStamp + PAUSE_MS : 0;
    return place;
  };
};

interface PaletteControl {
  open(): void;
  /** Rendered outside the parts that small windows hide. */
  readonly shown: JSX.Element | null;
}

/** Opens the palette with ⌘K and the list of shortcuts with `?`. G and a letter go to a screen. */
const usePalette = (screens: readonly ListedScreen[]): PaletteControl => {
  const [opened, open] = useState<PaletteProps['opened'] | null>(null);
  const [loaded, setLoaded] = useState<{ readonly Palette: ComponentType<PaletteProps> } | null>(null);
  const [placeOf] = useState(createGoing);
  const show = (list: PaletteProps['opened']['list']): void => {
    open({ list });
    if (loaded === null) void import('./palette.tsx').then(setLoaded);
  };
  useEffect(() => {
    const pressLetter = (event: KeyboardEvent): void => {
      const place = placeOf(event);
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

const PaletteButton = ({ open }: Pick<PaletteControl, 'open'>): JSX.Element => (
  <button type="button" class="find flex" onClick={open}>
    <Icon name="search" />
    <span>Search or jump to</span>
    <kbd>⌘</kbd>
    <kbd>K</kbd>
  </button>
);

interface Entry {
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
}

const GROUPS: readonly { readonly name: string | null; readonly entries: readonly Entry[] }[] = [
  {
    name: null,
    entries: [
      { path: '', word: 'Overview', icon: 'home' },
      { path: '/messages', word: 'Messages', icon: 'mail' },
      { path: '/inbound', word: 'Inbound', icon: 'reply' },
      { path: '/events', word: 'Events', icon: 'pulse' },
      { path: '/statistics', word: 'Statistics', icon: 'bars' },
    ],
  },
  {
    name: 'Build',
    entries: [
      { path: '/templates', word: 'Templates', icon: 'layout' },
      { path: '/keys', word: 'API keys', icon: 'key' },
      { path: '/requests', word: 'Requests', icon: 'refused' },
      { path: '/webhooks', word: 'Webhooks', icon: 'link' },
      { path: '/domains', word: 'Domains', icon: 'globe' },
    ],
  },
  {
    name: 'Operate',
    entries: [
      { path: '/delivery', word: 'Delivery', icon: 'layers' },
      { path: '/suppressions', word: 'Suppressions', icon: 'forbid' },
      { path: '/inbox', word: 'Inbox', icon: 'inbox' },
    ],
  },
  {
    name: 'Govern',
    entries: [
      { path: '/audit', word: 'Audit', icon: 'shield' },
      { path: '/billing', word: 'Billing', icon: 'card' },
      { path: '/settings', word: 'Settings', icon: 'gear' },
    ],
  },
];

export const Logo = (): JSX.Element => (
  <span class="logo" aria-hidden="true">
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path d="M3 11.500 6.200 4.300A1.300 1.300 0 0 1 7.400 3.500h5.200a1.300 1.300 0 0 1 1.200.8L17 11.500v3.700a1.300 1.300 0 0 1-1.300 1.300H4.300A1.300 1.300 0 0 1 3 15.200z" />
      <path d="M3 11.500h4l1.200 2h3.600l1.200-2h4M10 9.700V5.800M8.300 7.300 10 5.600l1.700 1.700" />
    </svg>
  </span>
);

const Brand = ({ name }: { readonly name: string }): JSX.Element => (
  <div class="org">
    <Logo />
    <span class="orgname">
      <bdi class="ell">{name}</bdi>
      <small>{name === 'Outbox' ? 'Email for your systems' : 'Outbox'}</small>
    </span>
  </div>
);

const isAt = (path: string, entry: string): boolean => path === entry || (entry !== '' && path.startsWith(`${entry}/`));

const Badge = ({ many }: { readonly many: number }): JSX.Element | null =>
  many === 0 ? null : (
    <>
      <i class="n" aria-hidden="true">
        {many}
      </i>
      <span class="vh">{many === 1 ? ', 1 needs attention' : `, ${many} need attention`}</span>
    </>
  );

/** The menu of those who may use the operations that a screen needs. */
const useGroups = (): typeof GROUPS => {
  const allowed = useAllowed();
  const isOpen = ({ path }: Entry): boolean =>
    SCREENS.find((screen) => screen.path.test(path))?.needs.some(allowed) === true;
  return GROUPS.map(({ name, entries }) => ({ name, entries: entries.filter(isOpen) })).filter(
    ({ entries }) => entries.length > 0,
  );
};

interface NavigationProps {
  readonly path: string;
  readonly groups: typeof GROUPS;
}

const Navigation = ({ path, groups }: NavigationProps): JSX.Element => {
  const counts = useAttentionCounts();
  return (
    <>
      {groups.map(({ name, entries }) => (
        <div class="group" key={name}>
          {name !== null && <p>{name}</p>}
          {entries.map((entry) => (
            <a key={entry.path} href={linkTo(entry.path)} {...(isAt(path, entry.path) && { 'aria-current': 'page' })}>
              <Icon name={entry.icon} />
              <span>{entry.word}</span>
              <Badge many={counts.get(entry.path) ?? 0} />
            </a>
          ))}
        </div>
      ))}
    </>
  );
};

const Switches = (): JSX.Element => {
  const shown = useStore(theme);
  const times = useTimes();
  const next = { system: 'light', light: 'dark', dark: 'system' } as const;
  const words = { system: 'System theme', light: 'Light', dark: 'Dark' } as const;
  return (
    <div class="switches">
      <button type="button" class="btn ghost small" onClick={() => theme.set(next[shown])}>
        <Icon name="theme" />
        <span class="vh">Theme: </span>
        {words[shown]}
      </button>
      <button
        type="button"
        class="btn ghost small"
        aria-label={`Times are in ${times.zone}. Switch between local time and UTC`}
        onClick={() => zone.set(zone.get() === 'UTC' ? 'local' : 'UTC')}
      >
        <Icon name="clock" />
        {times.zone}
      </button>
    </div>
  );
};

const LIVE_WORDS = {
  live: 'Live: events arrive as they happen',
  connecting: 'Connecting to live events',
  off: 'Not live',
} as const;

const Foot = (): JSX.Element => {
  const environment = environmentOf(usePlace());
  const live = useStore(liveness);
  const member = useStore(session)?.member ?? null;
  const key = useStore(keys)[environment] ?? '';
  return (
    <div class="foot">
      <Switches />
      <nav class="seg env" aria-label="Environment">
        {(['live', 'test'] as const).map((one) => (
          <a
            key={one}
            href={withParameters({ environment: one === 'test' ? 'test' : null })}
            {...(one === environment && { 'aria-current': 'true' })}
          >
            {one === 'live' ? 'Live' : 'Test'}
          </a>
        ))}
      </nav>
      <div class="me">
        <Avatar name={member?.name ?? null} icon={member === null ? 'key' : 'person'} />
        <span class="orgname">
          <bdi class="ell">{member?.name ?? 'API key'}</bdi>
          <small class={member === null ? '' : 'role'}>{member?.role ?? `…${key.slice(-4)}`}</small>
        </span>
        <span
          class={`livedot ${live.state}`}
          role="img"
          title={LIVE_WORDS[live.state]}
          aria-label={LIVE_WORDS[live.state]}
        />
        <button
          type="button"
          class="btn ghost small square"
          aria-label="Sign out"
          title="Sign out"
          onClick={() => void signOut()}
        >
          <Icon name="leave" />
        </button>
      </div>
    </div>
  );
};

/** Warns that data may be stale: it is not live, or could not be reloaded. */
const MaybeOlder = (): JSX.Element | null => {
  const { state, since } = useStore(liveness);
  const { since: readAt, why } = useStore(unread);
  const times = useTimes();
  if (readAt !== null) {
    return (
      <Notice tone="wait" state="warning">
        <b>Not updated since {times.clock(readAt)}.</b> {why !== null && sentenceOf(why)} This data may be out of date.
        No data is lost. Retrying automatically.{' '}
        <button type="button" class="lnk" onClick={readAgain}>
          Try now
        </button>
      </Notice>
    );
  }
  if (state !== 'off' || since === null) return null;
  return (
    <Notice tone="wait" state="warning">
      <b>Not live since {times.clock(since)}.</b> This data may be out of date. Reconnecting.
    </Notice>
  );
};

interface ShellProps {
  /** undefined: the address names no screen. */
  readonly screen: Screen | undefined;
  readonly children: ComponentChildren;
}

/** True if every operation that the screen needs is refused. One that the service does not offer is not refused. */
const isRefused = ({ needs }: Screen, { operations }: Access): boolean =>
  needs.every((name) => operations.get(name)?.allowed === false);

/** The screen with its navigation, which is a drawer on small windows. */
export const Shell = ({ screen, children }: ShellProps): JSX.Element => {
  // Title of the screen, for the header of small windows and the browser tab.
  const title = screen?.title ?? 'Page not found';
  const access = useAccess();
  const { path } = usePlace();
  const member = useStore(session)?.member ?? null;
  const [isOpen, setOpen] = useState(false);
  const groups = useGroups();
  const entries = groups.flatMap((group) => group.entries);
  const palette = usePalette(entries);
  useEffect(() => {
    document.title = `${title} · Outbox`;
  }, [title]);
  useEffect(() => setOpen(false), [path]);
  return (
    <div class="app">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <aside class={`side ${isOpen ? 'open' : ''}`} aria-label="Sidebar">
        <Brand name={useStore(session)?.organization.name ?? 'Outbox'} />
        <PaletteButton open={palette.open} />
        <nav aria-label="Main">
          <Navigation path={path} groups={groups} />
        </nav>
        <Foot />
      </aside>
      <div>
        <header class="mobile">
          <button
            type="button"
            class="btn ghost square"
            aria-label="Menu"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="menu" />
          </button>
          <b>{title}</b>
          <span class="sp" />
          <button type="button" class="btn ghost square" aria-label="Search or jump to" onClick={palette.open}>
            <Icon name="search" />
          </button>
          <button type="button" class="who-am-i" onClick={() => setOpen(!isOpen)}>
            <span class="vh">Account </span>
            <Avatar name={member?.name ?? null} icon={member === null ? 'key' : 'person'} />
          </button>
        </header>
        <main id="main" tabIndex={-1}>
          <MaybeOlder />
          {screen !== undefined && access && isRefused(screen, access) ? (
            <NoAccess screen={screen} access={access} others={entries} />
          ) : (
            children
          )}
        </main>
      </div>
      {palette.shown}
    </div>
  );
};

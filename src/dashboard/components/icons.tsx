import type { JSX } from 'preact';

/** Shapes of icons and states. A state always has a shape, a colour and a word. */

export type Tone = 'ok' | 'wait' | 'bad' | 'go' | 'plan' | 'mute' | 'cry' | 'seen';

/** Paths in a box of 16. */
const ICONS = {
  down: 'M4.500 6.300 8 9.800l3.500-3.500',
  right: 'M6.300 4.500 9.800 8l-3.500 3.500',
  search: 'M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10 10l3.500 3.500',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  pulse: 'M1.500 8.200h2.700l1.900-5.100 3.400 9.800 2-4.700h3',
  tray: 'M2.500 9.200h3.300l.9 1.600h2.600l.9-1.600h3.300M4.300 3.500h7.400l1.800 5.700v2.500a.9.9 0 0 1-.9.9H3.400a.9.9 0 0 1-.9-.9V9.200z',
  home: 'M2.500 7 8 2.500 13.500 7v5.600a.9.9 0 0 1-.9.9H9.700V9.800H6.300v3.700H3.400a.9.9 0 0 1-.9-.9z',
  mail: 'M3.400 3.500h9.200a1.400 1.400 0 0 1 1.400 1.400v6.200a1.400 1.400 0 0 1-1.400 1.400H3.400A1.400 1.400 0 0 1 2 11.100V4.900a1.400 1.400 0 0 1 1.400-1.400zM2.600 4.400 8 8.800l5.400-4.400',
  person:
    'M8 3a2.600 2.600 0 1 1 0 5.200 2.600 2.600 0 0 1 0-5.200zM3.200 13.200c.5-2.100 2.400-3.300 4.800-3.300s4.300 1.200 4.800 3.300',
  key: 'M5.600 7.700a2.700 2.700 0 1 1 0 5.400 2.700 2.700 0 0 1 0-5.400zM7.600 8.400 13.500 2.500M10.700 5.300l1.900 1.900',
  globe:
    'M8 2.500a5.500 5.500 0 1 1 0 11 5.500 5.500 0 0 1 0-11zM2.500 8h11M8 2.500c1.700 1.600 2.400 3.400 2.400 5.500S9.700 11.900 8 13.500C6.300 11.900 5.600 10.100 5.600 8S6.300 4.100 8 2.500',
  forbid: 'M8 2.500a5.500 5.500 0 1 1 0 11 5.500 5.500 0 0 1 0-11zM4.200 4.200l7.600 7.600',
  shield:
    'M8 1.900l5 1.900v4c0 2.900-1.900 5.100-5 6.300-3.100-1.200-5-3.400-5-6.300v-4zM5.800 8l1.600 1.600 2.900-3.200',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  copy: 'M6.800 5.500h5.400a1.300 1.300 0 0 1 1.300 1.300v5.400a1.300 1.300 0 0 1-1.300 1.300H6.800a1.300 1.300 0 0 1-1.300-1.300V6.800a1.300 1.300 0 0 1 1.300-1.300zM3.600 10.500a1.100 1.100 0 0 1-1.100-1.100V3.600a1.100 1.100 0 0 1 1.100-1.100h5.800a1.100 1.100 0 0 1 1.100 1.100',
  rotate: 'M13 8a5 5 0 1 1-1.500-3.600L13 5.900M13 2.700v3.200H9.800',
  plus: 'M8 3.300v9.400M3.300 8h9.400',
  send: 'M13.700 2.300 7 9M13.700 2.300 9.500 13.700 7 9 2.300 6.500z',
  gear: 'M8 5.900a2.100 2.100 0 1 1 0 4.200 2.100 2.100 0 0 1 0-4.200zM8 1.900v1.500M8 12.600v1.500M14.100 8h-1.500M3.400 8H1.900M12.300 3.700l-1.100 1.100M4.800 11.200l-1.100 1.100M12.300 12.300l-1.100-1.100M4.800 4.800 3.700 3.700',
  lock: 'M4.600 7.200h6.800a1.100 1.100 0 0 1 1.100 1.100v4.100a1.100 1.100 0 0 1-1.100 1.100H4.600a1.100 1.100 0 0 1-1.100-1.100V8.300a1.100 1.100 0 0 1 1.100-1.100zM5.500 7.200V5a2.500 2.500 0 0 1 5 0v2.200',
  clock: 'M8 2.500a5.500 5.500 0 1 1 0 11 5.500 5.500 0 0 1 0-11zM8 5v3.200l2.200 1.300',
  check: 'M3.500 8.600 6.500 11.500 12.500 4.700',
  cross: 'M4.200 4.200l7.600 7.600M11.800 4.200l-7.600 7.600',
  code: 'M5.500 4.500 2 8l3.500 3.500M10.500 4.500 14 8l-3.500 3.500',
  filter: 'M2.500 4.200h11M4.800 8h6.400M6.900 11.800h2.200',
  sliders:
    'M2.500 5h6M12 5h1.500M2.500 11h1.500M7.500 11h6M10.200 3.300a1.700 1.700 0 1 1 0 3.400 1.700 1.700 0 0 1 0-3.400zM5.700 9.300a1.700 1.700 0 1 1 0 3.400 1.700 1.700 0 0 1 0-3.400z',
  theme: 'M8 2.500a5.500 5.500 0 1 1 0 11zM8 2.500a5.500 5.500 0 1 0 0 11M8 5v6M10 4.200v7.600',
  warning: 'M8 2.600 14 13H2zM8 6.700v3M8 11.400v.1',
  info: 'M8 2.500a5.500 5.500 0 1 1 0 11 5.500 5.500 0 0 1 0-11zM8 7.300v3.700M8 5v.1',
  inbox:
    'M2.500 9 4.300 3.700a1 1 0 0 1 .9-.7h5.600a1 1 0 0 1 .9.7L13.500 9v3.100a.9.9 0 0 1-.9.9H3.400a.9.9 0 0 1-.9-.9zM2.500 9h3.300l.9 1.500h2.600l.9-1.500h3.300',
  layout:
    'M3.600 2.500h8.800a1.100 1.100 0 0 1 1.100 1.100v8.800a1.100 1.100 0 0 1-1.100 1.100H3.600a1.100 1.100 0 0 1-1.100-1.100V3.600a1.100 1.100 0 0 1 1.100-1.100zM2.500 6h11M6.200 6v7.500',
  reply: 'M6.300 3.800 2.800 7.300l3.500 3.500M2.800 7.300h6.900a3.500 3.500 0 0 1 3.500 3.500v1.700',
  refused: 'M4.100 2.500h5.400l2.900 2.900v8.100H4.100zM6.500 7.800l3.400 3.400M9.900 7.800l-3.400 3.400',
  trash:
    'M2.800 4.300h10.400M6.200 4.300V2.700h3.600v1.600M4 4.300l.6 9.200h6.800l.6-9.200M6.700 7v3.800M9.300 7v3.800',
  bars: 'M2.500 13.500h11M4.500 11V8.400M8 11V3.600M11.500 11V6.200',
  layers:
    'M2.500 5.400 8 2.500l5.500 2.900L8 8.300zM2.500 8.200 8 11.100l5.500-2.900M2.500 10.800 8 13.700l5.500-2.900',
  card: 'M3.400 3.500h9.200a1.400 1.400 0 0 1 1.400 1.400v6.200a1.400 1.400 0 0 1-1.400 1.400H3.400A1.400 1.400 0 0 1 2 11.100V4.900a1.400 1.400 0 0 1 1.400-1.400zM2 6.500h12M4.500 10h3',
  link: 'M6.600 9.400 9.400 6.600M7.200 4.800l1.300-1.300a2.800 2.800 0 0 1 4 4l-1.300 1.300M8.800 11.200l-1.300 1.300a2.800 2.800 0 0 1-4-4l1.300-1.300',
  save: 'M8 2.700v7.100M5 7.100l3 3 3-3M3 13.300h10',
  leave: 'M6.500 13.500H3.400a.9.9 0 0 1-.9-.9V3.400a.9.9 0 0 1 .9-.9h3.100M10 5l3 3-3 3M13 8H6',
  desktop:
    'M2.900 3h10.200a.9.9 0 0 1 .9.9v6a.9.9 0 0 1-.9.9H2.900a.9.9 0 0 1-.9-.9v-6a.9.9 0 0 1 .9-.9zM6 13.300h4M8 10.800v2.500',
  phone:
    'M5.400 1.900h5.200a1.100 1.100 0 0 1 1.100 1.100v10a1.100 1.100 0 0 1-1.100 1.100H5.400A1.100 1.100 0 0 1 4.300 13V3a1.100 1.100 0 0 1 1.100-1.100zM7.300 11.900h1.400',
} as const;
export type IconName = keyof typeof ICONS;

const circle = (radius: number): string =>
  `M7 ${7 - radius}a${radius} ${radius} 0 1 1 0 ${2 * radius}a${radius} ${radius} 0 1 1 0-${2 * radius}z`;
const RING = circle(5.2);
const DISC = circle(6);
const CLOCK = 'M7 4.200v3l2 1.200';
const CROSS = 'M5.200 5.200l3.600 3.600M8.800 5.200 5.200 8.800';

/** Paths in a box of 14: `f` filled, `s` and `l` drawn, `w` cut out. */
const MARKS = {
  ring: [['s', RING]],
  clock: [
    ['s', RING],
    ['l', CLOCK],
  ],
  half: [
    ['s', RING],
    ['f', 'M7 1.800a5.200 5.200 0 0 1 0 10.400z'],
  ],
  check: [
    ['f', DISC],
    ['w', 'M4.300 7.200l1.900 1.900 3.500-3.900'],
  ],
  part: [
    ['s', RING],
    ['l', 'M4.300 7.200l1.900 1.900 3.500-3.900'],
  ],
  later: [
    ['s dash', RING],
    ['l', CLOCK],
  ],
  stop: [
    ['f', 'M4.500 1h5L13 4.500v5L9.500 13h-5L1 9.500v-5z'],
    ['w', 'M4.900 4.900l4.200 4.200M9.100 4.900 4.900 9.100'],
  ],
  fault: [
    ['s', 'M4.700 1.600h4.600l3.100 3.100v4.600l-3.100 3.100H4.700L1.600 9.300V4.700z'],
    ['l', CROSS],
  ],
  slash: [
    ['s', RING],
    ['l', 'M3.500 3.500l7 7'],
  ],
  crossed: [
    ['s', RING],
    ['l', CROSS],
  ],
  glass: [
    [
      's',
      'M3.500 1.800h7M3.500 12.200h7M4.200 1.800c0 3 5.600 3.400 5.600 5.200S4.200 9.200 4.200 12.200M9.800 1.800c0 3-5.600 3.400-5.600 5.200s5.600 2.200 5.600 5.200',
    ],
  ],
  eye: [
    ['s', RING],
    ['f', circle(2)],
  ],
  pointer: [
    ['f', DISC],
    ['w', 'M5.400 4.600l4 2-1.800.7-.7 1.800z'],
  ],
  warning: [
    ['f', 'M7 1.200 13.200 12.300H.8z'],
    ['w', 'M7 5.200v3.200M7 10.200v.1'],
  ],
  minus: [
    ['s', RING],
    ['l', 'M4.500 7h5'],
  ],
} as const;

/** States of messages and of other resources. */
export const STATES = {
  accepted: { word: 'Accepted', tone: 'go', mark: 'ring' },
  scheduled: { word: 'Scheduled', tone: 'plan', mark: 'clock' },
  sending: { word: 'Sending', tone: 'go', mark: 'half' },
  delivered: { word: 'Delivered', tone: 'ok', mark: 'check' },
  partly: { word: 'Partly delivered', tone: 'wait', mark: 'part' },
  deferred: { word: 'Deferred', tone: 'wait', mark: 'later' },
  bounced: { word: 'Bounced', tone: 'bad', mark: 'stop' },
  failed: { word: 'Failed', tone: 'bad', mark: 'fault' },
  suppressed: { word: 'Suppressed', tone: 'mute', mark: 'slash' },
  cancelled: { word: 'Cancelled', tone: 'mute', mark: 'crossed' },
  expired: { word: 'Expired', tone: 'wait', mark: 'glass' },
  opened: { word: 'Opened', tone: 'seen', mark: 'eye' },
  clicked: { word: 'Clicked', tone: 'seen', mark: 'pointer' },
  complained: { word: 'Complained', tone: 'cry', mark: 'warning' },
  unsubscribed: { word: 'Unsubscribed', tone: 'mute', mark: 'minus' },
  active: { word: 'Active', tone: 'ok', mark: 'check' },
  revoked: { word: 'Revoked', tone: 'mute', mark: 'crossed' },
  verified: { word: 'Verified', tone: 'ok', mark: 'check' },
  pending: { word: 'Not verified yet', tone: 'go', mark: 'half' },
  degraded: { word: 'Degraded', tone: 'wait', mark: 'warning' },
  unchecked: { word: 'Not checked', tone: 'mute', mark: 'ring' },
  warning: { word: 'Warning', tone: 'wait', mark: 'warning' },
  fault: { word: 'Fault', tone: 'bad', mark: 'stop' },
} as const satisfies Readonly<
  Record<string, { readonly word: string; readonly tone: Tone; readonly mark: keyof typeof MARKS }>
>;
export type State = keyof typeof STATES;

/** A decorative icon. The text next to it says the same. */
export const Icon = ({ name }: { readonly name: IconName }): JSX.Element => (
  <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
    <path d={ICONS[name]} />
  </svg>
);

/** Initials of the first and last name; empty if the name has none. */
const initialsOf = (name: string): string => {
  const letters = name.split(/\s+/).flatMap((word) => /\p{L}/u.exec(word)?.[0] ?? []);
  return [letters[0], letters.length > 1 ? letters.at(-1) : undefined].join('').toUpperCase();
};

interface AvatarProps {
  /** The person's name. */
  readonly name: string | null;
  /** Shown if there is no name. */
  readonly icon: IconName;
  readonly title?: string;
}

/** A decorative avatar. The text next to it names the person. */
export const Avatar = ({ name, icon, title }: AvatarProps): JSX.Element => {
  const initials = initialsOf(name ?? '');
  return (
    <span class={`ava ${initials === '' ? 'k' : ''}`} title={title}>
      {initials === '' ? <Icon name={icon} /> : <span aria-hidden="true">{initials}</span>}
    </span>
  );
};

/** The shape of a state in its colour. */
export const Mark = ({ state }: { readonly state: State }): JSX.Element => {
  const { tone, mark } = STATES[state];
  return (
    <svg class={`m ${tone}`} viewBox="0 0 14 14" aria-hidden="true">
      {MARKS[mark].map(([className, d]) => (
        <path key={d} class={className} d={d} />
      ))}
    </svg>
  );
};

/** A state as shape, colour and word. @param word replaces the state's own word. */
export const Status = ({ state, word }: { readonly state: State; readonly word?: string }): JSX.Element => (
  <span class={`status ${STATES[state].tone}`}>
    <Mark state={state} />
    {word ?? STATES[state].word}
  </span>
);

export const Pill = ({ state, word }: { readonly state: State; readonly word?: string }): JSX.Element => (
  <span class={`pill ${STATES[state].tone}`}>
    <Mark state={state} />
    {word ?? STATES[state].word}
  </span>
);

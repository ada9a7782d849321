/** How a destination takes mail. */
export type Conduct =
  | 'healthy'
  /** Seconds before the reply to MAIL, or to the end of a message. */
  | 'slow at MAIL'
  | 'slow at the end'
  /** At the greeting, by 421 or by 554. */
  | 'closing'
  | 'refusing'
  /** Takes connections and says nothing. */
  | 'silent'
  /** Takes no connections. */
  | 'gone';

/** Of 40 in a row: a tenth is slow, a twentieth refuses, a twentieth is dead. */
const BAD: readonly (readonly [place: number, Conduct])[] = [
  [0, 'slow at MAIL'],
  [10, 'slow at the end'],
  [20, 'slow at MAIL'],
  [30, 'slow at the end'],
  [5, 'closing'],
  [25, 'refusing'],
  [15, 'silent'],
  [35, 'gone'],
];
const ROW = 40;
const CONDUCTS = new Map(BAD);

export const conductOf = (destination: number): Conduct => CONDUCTS.get(destination % ROW) ?? 'healthy';

/** Each has servers of its own name, so that each is an operator of its own. */
export const domainOf = (destination: number): string => `d${destination}.test`;

const BYTE = 256;

/** On loopback. */
export const addressOf = (destination: number): string =>
  `127.77.${Math.floor(destination / BYTE)}.${destination % BYTE}`;

/** Behaviour of a destination. */
export type Conduct =
  | 'healthy'
  /** Delays the reply to MAIL, or to the end of a message, by seconds. */
  | 'slow at MAIL'
  | 'slow at the end'
  /** Rejects at the greeting, with 421 or 554. */
  | 'closing'
  | 'refusing'
  /** Accepts connections and stays silent. */
  | 'silent'
  /** Accepts no connections. */
  | 'gone';

/** Bad ones among every 40 destinations: a tenth is slow, a twentieth rejects, a twentieth is dead. */
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

/** Each domain has mail servers with names of its own, so each is a separate mailbox provider. */
export const domainOf = (destination: number): string => `d${destination}.test`;

const BYTE = 256;

/** Loopback address of the destination. */
export const addressOf = (destination: number): string =>
  `127.77.${Math.floor(destination / BYTE)}.${destination % BYTE}`;

import { hmacSha256 } from './digest.ts';
import type { IsAuthentic, RecordedEvent, Revision, Seals, StoredEvent, StreamName } from './event-store.ts';

/**
 * Proof that this service wrote an event: a message authentication code (HMAC-SHA-256) over the event and its place in
 * its stream, under a key that is not in the database. It is the last member of the stored metadata, behind the canonical
 * JSON, and no part of the leaf: leaves and their proofs are the same with and without it. A copy of the log keeps it.
 */
export interface EventMacs {
  /** Adds the MAC to an event that does not have one. */
  seal(event: StoredEvent, stream: StreamName, revision: Revision): StoredEvent;
  readonly isAuthentic: IsAuthentic;
  readonly seals: Seals;
}

const BEGIN = ',"mac":"';
const END = '"}';
/** 128 bits: an intruder would have to guess them online. More costs bytes in every event. */
const MAC_BYTES = 16;
/** Base64 without padding. */
const MAC_CHARACTERS = 22;
const SUFFIX_CHARACTERS = BEGIN.length + MAC_CHARACTERS + END.length;

const hasMac = (metadata: string): boolean =>
  metadata.endsWith(END) && metadata.startsWith(BEGIN, metadata.length - SUFFIX_CHARACTERS);

/** The metadata in canonical JSON, as it is in the leaf. */
export const withoutMac = (metadata: string): string =>
  hasMac(metadata) ? `${metadata.slice(0, -SUFFIX_CHARACTERS)}}` : metadata;

/** The first key makes MACs, and all of them verify. Earlier keys made those of older events. */
export const createEventMacs = (keys: readonly [Uint8Array, ...Uint8Array[]]): EventMacs => {
  const textMac = (key: Uint8Array, text: string): string => hmacSha256(key, text).toString('base64url', 0, MAC_BYTES);
  const macOf = (key: Uint8Array, { id, type, data, metadata }: StoredEvent, stream: string, revision: number) =>
    textMac(key, `${JSON.stringify([stream, revision, id, type])}\n${data}\n${metadata}`);
  /** No event begins like this. */
  const sealOf = (key: Uint8Array, text: string): string => textMac(key, `seal\n${text}`);

  return {
    seal: (event, stream, revision) => {
      const mac = macOf(keys[0], event, stream, revision);
      return { ...event, metadata: `${event.metadata.slice(0, -1)}${BEGIN}${mac}${END}` };
    },
    // Time does not matter: who can measure it in the database's own process has nothing to guess.
    isAuthentic: ({ stored, stream, revision }) => {
      if (!hasMac(stored.metadata)) return false;
      const mac = stored.metadata.slice(BEGIN.length - SUFFIX_CHARACTERS, -END.length);
      const event = { ...stored, metadata: withoutMac(stored.metadata) };
      return keys.some((key) => macOf(key, event, stream, revision) === mac);
    },
    seals: {
      make: (text) => sealOf(keys[0], text),
      holds: (text, seal) => keys.some((key) => sealOf(key, text) === seal),
    },
  };
};

/**
 * Foreign events: those that this service cannot prove to have written (`EventMacs`). An intruder with the database can
 * insert or change events, but cannot make their proofs. Nothing is decided from them (`commands/foreign-events.ts`), and trees with such
 * an event are not signed, until an operator adopts it, which is an event itself and needs a proof.
 */
export interface ForeignEvents {
  /** All foreign events before these were adopted. */
  readonly adoptsEarlier: boolean;
  /** Foreign events that are not adopted, in order. */
  readonly events: readonly RecordedEvent[];
}

const NONE: ForeignEvents = { adoptsEarlier: false, events: [] };

/** @param events consecutive ones. @param isAuthentic absent: events of this log carry no proof. */
export const foreignEvents = (
  events: readonly RecordedEvent[],
  isAuthentic: IsAuthentic | undefined,
): ForeignEvents => {
  if (isAuthentic === undefined) return NONE;
  const adopted = events.findLastIndex((event) => event.type === 'EarlierEventsAdopted' && isAuthentic(event));
  return {
    adoptsEarlier: adopted !== -1,
    events: events.slice(adopted + 1).filter((event) => !isAuthentic(event)),
  };
};

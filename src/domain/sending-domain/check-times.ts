import { sha256 } from '../digest.ts';
import type { DkimPair } from './dkim.ts';
import { type ExistingSendingDomain, lifeOf } from './sending-domain.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Since something is waited for; whoever publishes at once does not wait for the hour. */
const EAGER_MS: readonly number[] = [1, 3, 8, 23].map((minutes) => minutes * MINUTE_MS);
/** After those. Shorter asks for nothing, longer leaves people waiting. */
const WAITING_EVERY_MS = HOUR_MS;
/** What was not published by then is not waited for. */
const WAITING_MAX_MS = 14 * DAY_MS;
/** Longer sees later that a record is gone; shorter asks servers that have nothing new. */
const VERIFIED_EVERY_MS = 6 * HOUR_MS;
/** Somebody is mending it; longer leaves it in trouble although it is mended. */
const DEGRADED_EVERY_MS = 15 * MINUTE_MS;

const PHASES = 2 ** 32;

/** Where in each period a domain has its turn: as if at random, so that not all are looked at together. */
const phaseMs = (domainId: string, everyMs: number): number =>
  Math.floor((sha256(domainId).readUInt32BE(0) / PHASES) * everyMs);

const steady = (domainId: string, everyMs: number, afterMs: number): number => {
  const phase = phaseMs(domainId, everyMs);
  return (Math.floor((afterMs - phase) / everyMs) + 1) * everyMs + phase;
};

/** null: it has been waited for long enough. */
const waiting = (since: string, afterMs: number): number | null => {
  const sinceMs = Date.parse(since);
  const eager = EAGER_MS.map((ms) => sinceMs + ms).find((ms) => ms > afterMs);
  if (eager !== undefined) return eager;
  const lastMs = sinceMs + (EAGER_MS.at(-1) ?? 0);
  const next = lastMs + (Math.floor((afterMs - lastMs) / WAITING_EVERY_MS) + 1) * WAITING_EVERY_MS;
  return next - sinceMs > WAITING_MAX_MS ? null : next;
};

const latest = (time: string, pair: DkimPair | null): string =>
  pair !== null && pair.addedAt > time ? pair.addedAt : time;

const ofLife = (domain: ExistingSendingDomain, afterMs: number): number | null => {
  const { domainId, createdAt, trouble, dkim } = domain;
  const life = lifeOf(domain, false);
  switch (life) {
    case 'pending':
      return waiting(latest(createdAt, dkim.pending), afterMs);
    case 'failed':
      return waiting(latest(trouble?.since ?? createdAt, dkim.pending), afterMs);
    case 'degraded':
      return steady(domainId, DEGRADED_EVERY_MS, afterMs);
    case 'verified':
      return steady(domainId, VERIFIED_EVERY_MS, afterMs);
    default:
      return life satisfies never;
  }
};

/**
 * When the records of a domain are looked at next by itself, in milliseconds since 1970: the first of its times that is
 * after `afterMs`. It follows from the domain alone. null: only when somebody asks.
 */
export const nextCheckMs = (domain: ExistingSendingDomain, afterMs: number): number | null => {
  if (domain.status === 'deleted') return null;
  const { pending } = domain.dkim;
  const times = [ofLife(domain, afterMs), pending === null ? null : waiting(pending.addedAt, afterMs)];
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
};

import type { LookupFunction } from 'node:net';
import { Client } from 'undici';
import { createSlots } from '../../slots.ts';

export interface FetchStsPolicyOptions {
  /** Of policy hosts: never one that leads into this network. */
  readonly lookup: LookupFunction;
  /** 443 without it. */
  readonly port?: number;
  /** PEM; those that the platform trusts without it. */
  readonly ca?: string;
  readonly timeoutMs?: number;
}

export interface FetchStsPolicy {
  /** The text of the domain's policy; null: it is not to be had. Never fails. */
  fetch(domain: string): Promise<string | null>;
  close(): void;
}

/** RFC 8461 §3.3 proposes it. Policies have less than 1 kB. */
const POLICY_BYTES_MAX = 64 * 1024;
/** A message waits for it, once. RFC 8461 §3.3 proposes a minute, which holds mail up for hosts that are gone. */
const TIMEOUT_MS = 10_000;
/** Each is a handshake. More takes the processor from the mail, fewer makes new domains wait for slow ones. */
const FETCHES_MAX = 32;
const WAITING_MAX = 1000;
const HTTPS_PORT = 443;
const OK = 200;

const PLAIN_TEXT = /^text\/plain[ \t]*(?:;|$)/i;
/** Labels of a name that can be part of a URL as it stands. */
const DOMAIN = /^(?=.{1,240}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/;

/**
 * Gets policies from `https://mta-sts.<domain>/.well-known/mta-sts.txt` (RFC 8461 §3.3): the certificate must be valid,
 * a redirection is no policy, nor is anything that is not plain text.
 */
export const createFetchStsPolicy = (options: FetchStsPolicyOptions): FetchStsPolicy => {
  const { lookup, port = HTTPS_PORT, ca, timeoutMs = TIMEOUT_MS } = options;
  const slots = createSlots(FETCHES_MAX, WAITING_MAX);
  const open = new Set<AbortController>();
  let isClosed = false;

  const get = async (client: Client, signal: AbortSignal): Promise<string | null> => {
    const { statusCode, headers, body } = await client.request({
      ...{ method: 'GET', path: '/.well-known/mta-sts.txt', signal },
      headers: { accept: 'text/plain' },
    });
    const isPolicy = statusCode === OK && PLAIN_TEXT.test(String(headers['content-type']));
    return isPolicy ? await body.text() : null;
  };

  const fetchNow = async (domain: string): Promise<string | null> => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    open.add(controller);
    const client = new Client(`https://mta-sts.${domain}:${port}`, {
      connect: { lookup, timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) },
      maxResponseSize: POLICY_BYTES_MAX,
    });
    try {
      return await get(client, controller.signal);
    } catch {
      return null; // of no more use than why
    } finally {
      clearTimeout(timer);
      open.delete(controller);
      await client.destroy();
    }
  };

  return {
    fetch: async (domain) => {
      if (!DOMAIN.test(domain) || !(await slots.take())) return null;
      try {
        return isClosed ? null : await fetchNow(domain);
      } finally {
        slots.free();
      }
    },
    close: () => {
      isClosed = true;
      for (const controller of open) controller.abort();
    },
  };
};

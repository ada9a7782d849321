import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { AuthenticateOptions, AuthenticateResult } from 'mailauth';
import type { Verdict, Verdicts } from '../../domain/inbound/events.ts';
import { VERDICTS } from '../../domain/inbound/events.ts';
import type { AuthenticateMail, Authentication } from '../../domain/ports/inbound.ts';
import { type Logger, withTimeout } from '../../lib/async/async.ts';
import { type DnsAnswer, type Resolver, ResolverUnavailable } from '../../lib/smtp/smtp.ts';

/**
 * Checks inbound mail by SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 7489) and ARC (RFC 8617) with `mailauth`. The mail
 * is hashed in pieces, so that a large one does not block the event loop.
 */

/** All look-ups of a mail. A slow name server makes its verdicts `temperror`; a longer time keeps the client waiting. */
const AUTHENTICATION_MS_MAX = 20_000;
/** Hashing a piece takes a millisecond. */
const PIECE_BYTES = 256_000;
/** A longer header is crafted: its mail is received without a check. */
const HEAD_BYTES_MAX = 256_000;
/** Each costs a look-up and a signature check. Mailing lists and forwarders add a few. */
const SIGNATURES_MAX = 10;

const SIGNATURE = /^dkim-signature[ \t]*:/gim;

/** A mail in pieces, each in a turn of its own. */
export const pieces = async function* (raw: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < raw.length; from += PIECE_BYTES) {
    if (from > 0) await setImmediate();
    yield raw.subarray(from, from + PIECE_BYTES);
  }
};

const END_OF_HEAD = /\r?\n\r?\n/;

/** Whether the header is so large, or has so many signatures, that checking it would cost more than other mail. */
const isExcessive = (raw: Buffer): boolean => {
  const head = raw.subarray(0, HEAD_BYTES_MAX).toString('latin1');
  const end = END_OF_HEAD.exec(head)?.index;
  if (end === undefined) return raw.length > HEAD_BYTES_MAX;
  return (head.slice(0, end).match(SIGNATURE) ?? []).length > SIGNATURES_MAX;
};

/** An error as the resolver of Node reports it, which `mailauth` expects. */
const dnsError = (code: string): Error => Object.assign(new Error(code), { code });

const recordsOf = <Found>({ records, exists }: DnsAnswer<Found>): readonly Found[] => {
  if (records.length === 0) throw dnsError(exists ? 'ENODATA' : 'ENOTFOUND');
  return records;
};

const addressesOf = async (resolver: Resolver, host: string, family: 4 | 6): Promise<string[]> => {
  const answer = await resolver.addresses(host);
  const records = answer.records.filter((each) => each.family === family);
  return recordsOf({ ...answer, records }).map(({ address }) => address);
};

const lookUp = async (resolver: Resolver, host: string, type: string): Promise<unknown[]> => {
  switch (type) {
    case 'TXT':
      return recordsOf(await resolver.txt(host)).map((text) => [text]);
    case 'MX':
      return recordsOf(await resolver.mx(host)).map(({ exchange, preference: priority }) => ({ exchange, priority }));
    case 'A':
      return addressesOf(resolver, host, 4);
    case 'AAAA':
      return addressesOf(resolver, host, 6);
    default:
      // The reverse name of an address proves nothing (RFC 7208 §5.5), and is not looked up.
      throw dnsError('ENODATA');
  }
};

const resolverFor =
  (resolver: Resolver) =>
  async (host: string, type: string): Promise<string[][] | string[]> => {
    try {
      return (await lookUp(resolver, host, type)) as string[][] | string[]; // the forms that `mailauth` expects
    } catch (error) {
      throw error instanceof ResolverUnavailable ? dnsError('ESERVFAIL') : error;
    }
  };

const verdictOf = (result: string | undefined): Verdict => VERDICTS.find((verdict) => verdict === result) ?? 'none';

/** A mail with one good signature passes, whatever its others are (RFC 6376 §6.1). */
const dkimVerdict = ({ dkim }: AuthenticateResult): Verdict => {
  const results = dkim.results.map(({ status }) => verdictOf(status.result));
  return results.find((verdict) => verdict === 'pass') ?? results[0] ?? 'none';
};

const POLICIES = ['none', 'quarantine', 'reject'] as const;

const authenticationOf = (result: AuthenticateResult): Authentication => {
  const { spf, dmarc, arc } = result;
  return {
    verdicts: {
      spf: verdictOf(spf ? spf.status.result : 'none'),
      dkim: dkimVerdict(result),
      dmarc: verdictOf(dmarc ? dmarc.status.result : 'none'),
      arc: verdictOf(arc ? arc.status.result : 'none'),
    },
    dmarcPolicy: POLICIES.find((policy) => dmarc && policy === dmarc.policy) ?? 'none',
  };
};

const all = (verdict: Verdict): Authentication => {
  const verdicts: Verdicts = { spf: verdict, dkim: verdict, dmarc: verdict, arc: verdict };
  return { verdicts, dmarcPolicy: 'none' };
};

/** Without a client `mailauth` checks SPF all the same. This name (RFC 6761 §6.4) has no record, so that nothing passes by it. */
const NO_CLIENT = { sender: '', helo: 'client.invalid' };

const withoutSpf = ({ verdicts, dmarcPolicy }: Authentication): Authentication => ({
  verdicts: { ...verdicts, spf: 'none' },
  dmarcPolicy,
});

interface AuthenticatorOptions {
  readonly resolver: Resolver;
  readonly logger: Logger;
}

export const createAuthenticator = ({ resolver, logger }: AuthenticatorOptions): AuthenticateMail => {
  const check = async (raw: Buffer, options: AuthenticateOptions): Promise<Authentication> => {
    // Loaded with the first mail: a process that receives none does not need it.
    const { authenticate } = await import('mailauth');
    return authenticationOf(await authenticate(Readable.from(pieces(raw)), options));
  };

  return async (raw, { from, client }) => {
    if (isExcessive(raw)) return all('permerror');
    const options: AuthenticateOptions = {
      resolver: resolverFor(resolver),
      mta: 'inbound',
      disableBimi: true,
      ...(client === null ? NO_CLIENT : { sender: from, ip: client.address, helo: client.helo }),
    };
    try {
      const found = await withTimeout({ ms: AUTHENTICATION_MS_MAX }, check(raw, options));
      return client === null ? withoutSpf(found) : found;
    } catch (error) {
      logger.warn({ err: error }, 'could not authenticate an inbound mail');
      return all('temperror');
    }
  };
};

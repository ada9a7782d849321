import type { DnsAnswer, HostAddress, MxRecord, Resolver, TlsaRecord } from '../../../src/lib/smtp/smtp.ts';

/**
 * Records by host and type. A type without an entry has no records. A function may answer differently each time, or
 * throw.
 */
export interface InMemoryRecords {
  txt?(host: string): readonly string[];
  mx?(host: string): readonly MxRecord[];
  addresses?(host: string): readonly HostAddress[];
  tlsa?(host: string): readonly TlsaRecord[];
}

const answer = <Found>(records: readonly Found[] = []): DnsAnswer<Found> => ({
  records,
  exists: true,
  authenticated: false,
  aliases: [],
});

/** A DNS for tests and simulations. It answers with the given records, and every name exists. */
export const createInMemoryResolver = (given: InMemoryRecords = {}): Resolver => ({
  txt: async (host) => answer(given.txt?.(host)),
  mx: async (host) => answer(given.mx?.(host)),
  addresses: async (host) => answer(given.addresses?.(host)),
  tlsa: async (host) => answer(given.tlsa?.(host)),
});

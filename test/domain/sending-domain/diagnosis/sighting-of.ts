import type { Sighting } from '../../../../src/domain/sending-domain/spf.ts';

export interface Circumstances {
  readonly exists?: boolean;
  readonly aliases?: readonly string[];
  readonly doubled?: Sighting['doubled'];
  readonly isWildcard?: boolean;
  readonly domainExists?: boolean;
}

/** Records found at a host of `example.test`. null: the DNS did not answer. */
export const sightingOf = (
  host: string,
  texts: readonly string[] | null,
  { exists = true, aliases = [], doubled = null, isWildcard = false, domainExists = true }: Circumstances = {},
): Sighting => ({
  host,
  doubled,
  isWildcard,
  answer: texts === null ? null : { records: texts, exists, authenticated: false, aliases },
  domain: { name: 'example.test', exists: domainExists },
});

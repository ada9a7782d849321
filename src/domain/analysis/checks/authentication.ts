import type { RecordState } from '../../sending-domain/events.ts';
import type { DomainFacts } from '../analysis.ts';
import { type Check, type Discovery, discovery } from '../discovery.ts';

const RECORDS = [
  ['spf', 'SPF', 'spf-not-valid'],
  ['dkim', 'DKIM', 'dkim-not-valid'],
  ['dmarc', 'DMARC', 'dmarc-not-valid'],
] as const;

const STATES: Readonly<Record<Exclude<RecordState, 'valid'>, string>> = {
  missing: 'is missing',
  invalid: 'is not valid',
  include_broken: 'includes this service, whose own record is missing or wrong',
  unknown: 'has not been checked yet',
};

function* records(domain: DomainFacts): Generator<Discovery> {
  for (const [record, name, rule] of RECORDS) {
    const state = domain[record];
    if (state === 'valid') continue;
    const said = `the ${name} record of ${domain.name} ${STATES[state]}`;
    yield discovery(state === 'unknown' ? 'authentication-unchecked' : rule, 'from', said);
  }
}

/** What receivers will think of the sending domain, from what was last seen in its DNS. */
export const authentication: Check = function* ({ domain }) {
  if (domain.capturing) {
    yield discovery('mail-captured', 'from', `mail is captured here, so no receiver judges ${domain.name}`);
    return;
  }
  if (!domain.verified) yield discovery('domain-not-verified', 'from', `the domain ${domain.name} is not verified`);
  yield* records(domain);
};

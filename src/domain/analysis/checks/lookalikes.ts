import { domainOf } from '../../email-address.ts';
import { type Check, type Discovery, discovery } from '../discovery.ts';
import type { LinkFact, MessageFacts } from '../facts.ts';
import { lookalikeOf } from '../hosts/lookalike.ts';
import { quoted } from '../text/quoted.ts';

function* inAddresses({ from, replyTo }: MessageFacts): Generator<Discovery> {
  const mailboxes = [['from', from] as const, ...replyTo.map((mailbox) => ['reply_to', mailbox] as const)];
  for (const [field, { address }] of mailboxes) {
    const found = lookalikeOf(domainOf(address));
    if (found === null) continue;
    yield discovery('lookalike-host', field, `the domain ${quoted(found.shown)} ${found.why}`);
  }
}

function* inLinks(field: string, links: readonly LinkFact[]): Generator<Discovery> {
  for (const { target, offset } of links) {
    const found = target.kind === 'web' ? lookalikeOf(target.host) : null;
    if (found === null) continue;
    yield discovery('lookalike-host', field, () => `a link’s host ${quoted(found.shown)} ${found.why}`, offset);
  }
}

/** Host names that deceive the eye. */
export const lookalikes: Check = function* (facts) {
  yield* inAddresses(facts);
  yield* inLinks('html', facts.html?.links ?? []);
  yield* inLinks('text', facts.textLinks);
};

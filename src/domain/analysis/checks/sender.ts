import type { Mailbox } from '../../contents.ts';
import { domainOf } from '../../email-address.ts';
import { type Check, type Discovery, discovery } from '../discovery.ts';
import { mixesScripts } from '../hosts/lookalike.ts';
import { namedHosts } from '../hosts/named-host.ts';
import { siteOf } from '../hosts/site-of.ts';
import { quoted } from '../text/quoted.ts';

const NO_REPLY = /^(?:do[-_.]?not|dont|no|non|never)[-_.]?(?:reply|respond|answer)/i;
const WORD = /\S+/g;
/** Also what joins two words into one, each in its own script: `IT-отдел`. */
const BETWEEN_WORDS = /[^\p{L}\p{M}]+/u;
/** They turn the direction of text around, or are there without being seen. */
const DECEPTIVE = /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

/** The host of each e-mail address that a name contains, and each host that it names otherwise. */
const hostsNamedIn = (name: string): readonly string[] => {
  const words = (name.match(WORD) ?? []).filter((word) => word.includes('@'));
  const behindAt = words.flatMap((word) => namedHosts(word.slice(word.lastIndexOf('@') + 1)));
  return [...behindAt, ...namedHosts(name)].map(({ host }) => host);
};

function* misleading(field: string, { name = '', address }: Mailbox): Generator<Discovery> {
  const own = siteOf(domainOf(address));
  const other = hostsNamedIn(name).find((host) => siteOf(host) !== own);
  if (other !== undefined) {
    const said = `the display name ${quoted(name)} names ${other}, but the address is on ${domainOf(address)}`;
    yield discovery('sender-name-misleading', field, said);
  } else if (name.split(BETWEEN_WORDS).some(mixesScripts)) {
    yield discovery('sender-name-misleading', field, `the display name ${quoted(name)} mixes scripts in one word`);
  } else if (DECEPTIVE.test(name)) {
    yield discovery('sender-name-misleading', field, `the display name ${quoted(name)} contains hidden characters`);
  }
}

/** Who the mail says it is from. */
export const sender: Check = function* ({ from, replyTo }) {
  yield* misleading('from', from);
  for (const [index, mailbox] of replyTo.entries()) {
    yield* misleading(replyTo.length === 1 ? 'reply_to' : `reply_to[${index}]`, mailbox);
  }
  if (replyTo.length === 0 && NO_REPLY.test(from.address)) {
    yield discovery('sender-no-reply', 'from', `nobody can answer ${from.address}`);
  }
};

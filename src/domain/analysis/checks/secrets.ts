import { type Check, type Discovery, discovery } from '../discovery.ts';
import { type Hit, hitsIn, hitsInSpans } from '../text/pattern-hits.ts';

/** Forms that nothing but a secret has: this service's keys, AWS, Stripe, GitHub, Slack, and private keys in PEM. */
const SECRET =
  /\b(?:ob_(?:live|test)_[0-9A-Za-z]{49}|AKIA[0-9A-Z]{16}|[rs]k_live_[0-9A-Za-z]{16,64}|gh[opsu]_[0-9A-Za-z]{36,64}|xox[abprs]-[0-9A-Za-z-]{10,72})\b|-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----/g;
/** Tells the kind and not the secret. */
const SHOWN_CHARACTERS = 8;

const found = (field: string, { text, offset }: Hit): Discovery =>
  discovery('secret', field, () => `what begins with ${text.slice(0, SHOWN_CHARACTERS)} looks like a secret`, offset);

/** Keys that were not meant to be mailed. */
export const secrets: Check = function* ({ html, text = '' }) {
  for (const hit of hitsInSpans(html?.source ?? '', html?.spans ?? [], SECRET)) yield found('html', hit);
  for (const hit of hitsIn(text, SECRET)) yield found('text', hit);
};

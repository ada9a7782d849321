import { type Check, type Discovery, discovery } from '../discovery.ts';
import type { LinkFact } from '../facts.ts';
import type { Target } from '../hosts/web-address.ts';
import type { RuleName } from '../rule-table.ts';
import { quoted } from '../text/quoted.ts';
import { hasMarker } from './template-markers.ts';

type Told = readonly [rule: RuleName, sentence: (link: LinkFact) => string];

const BY_KIND: Readonly<Partial<Record<Target['kind'], Told>>> = {
  script: ['link-script', ({ href }) => `a link runs ${quoted(href)}`],
  data: ['link-script', ({ href }) => `a link opens the data URI ${quoted(href)}`],
  file: ['link-private-host', ({ href }) => `a link goes to ${quoted(href)}, a file on the sender’s machine`],
  malformed: ['link-malformed', ({ href }) => `a link’s address ${quoted(href)} is not a whole one`],
  empty: ['link-empty', ({ text }) => `the link ${quoted(text)} goes nowhere`],
};

/** An address that a template left open is told as that. */
const isOpen = ({ target, href }: LinkFact): boolean => target.kind === 'malformed' && hasMarker(href);

function* telling(link: LinkFact): Generator<Discovery> {
  const told = BY_KIND[link.target.kind];
  if (told === undefined || isOpen(link)) return;
  const [rule, sentence] = told;
  yield discovery(rule, 'html', () => sentence(link), link.offset);
}

/** Links that lead nowhere, or to no page. */
export const linkTargets: Check = function* ({ html }) {
  for (const link of html?.links ?? []) yield* telling(link);
};

import type { ElementFact } from '../../domain/analysis/facts.ts';
import type { StartTag } from './start-tag.ts';

/** They run, ask for input or load something else into the page. */
const ACTIVE: ReadonlySet<string> = new Set(
  'script iframe frame frameset object embed applet form input select textarea base portal'.split(' '),
);
const HANDLER = /^on[a-z]{3,30}$/;
/** Data that mail programs read (orders, flights): nothing of it runs. */
const DATA_SCRIPT = 'application/ld+json';

const isActive = ({ name, attribute }: StartTag): boolean => {
  if (name === 'script') return attribute('type')?.trim().toLowerCase() !== DATA_SCRIPT;
  if (name === 'meta') return attribute('http-equiv')?.trim().toLowerCase() === 'refresh';
  return ACTIVE.has(name);
};

export const activeContentsOf = (tag: StartTag): readonly ElementFact[] => [
  ...(isActive(tag) ? [{ what: `<${tag.name}>`, offset: tag.offset }] : []),
  ...tag.token.attrs
    .filter(({ name }) => HANDLER.test(name))
    .map(({ name }) => ({ what: `the attribute ${name}`, offset: tag.offset })),
];

export const isExternalStyle = ({ name, attribute }: StartTag): boolean =>
  name === 'link' && (attribute('rel')?.toLowerCase().split(/\s/).includes('stylesheet') ?? false);

import { VIEW_URL_VARIABLE } from '../../domain/message/tokens.ts';
import { random } from '../../lib/async/async.ts';
import type { Call, RouteContext } from '../endpoint.ts';
import type { SerializedContent, SerializedWholeTemplate } from '../resources/templates/template.ts';
import { htmlOrText, liquidOf, placeholdersOf, type TemplateSources } from './placeholders.ts';
import { type Fields, type PathNames, perform, requireNone } from './translate.ts';

/**
 * Templates of other services by our own operations. Theirs are written with placeholders and apply when they are saved;
 * ours are Liquid, declare their variables, and apply when they are published. So a save converts, writes the draft and
 * publishes it; if that fails, the draft is restored and nothing has changed.
 */

/** Parts of a template, with the vendor's placeholders. */
export const sourcesOf = ({ subject, html, text }: SerializedContent): TemplateSources => {
  const [shownHtml, shownText] = [placeholdersOf(html), placeholdersOf(text ?? '')];
  const isTextOnly = shownText !== '' && htmlOrText({ html: '', text: shownText }) === shownHtml;
  return { subject: placeholdersOf(subject), html: isTextOnly ? '' : shownHtml, text: shownText };
};

interface VendorTemplate {
  readonly sources: TemplateSources;
  /** Whether triple braces output HTML unescaped. */
  readonly raw: boolean;
  readonly names: PathNames;
  /** Content before the change; null: the template is new. */
  readonly before: SerializedContent | null;
}

type Variables = SerializedContent['variables'];

/** Parts that these services do not have use variables, too. */
const hasOtherParts = ({ locales, preheader, from, reply_to }: SerializedContent): boolean =>
  Object.keys(locales).length > 0 || preheader !== null || from !== null || reply_to.length > 0;

const variablesOf = (used: ReadonlyMap<string, string>, before: SerializedContent | null): Variables => {
  const declared = new Map((before?.variables ?? []).map((one) => [one.name, one]));
  const isInput = (name: string): boolean => name !== VIEW_URL_VARIABLE || before === null || declared.has(name);
  const kept = before !== null && hasOtherParts(before) ? before.variables.filter(({ name }) => !used.has(name)) : [];
  const found = [...used].filter(([name]) => isInput(name));
  return [
    ...found.map(
      ([name, type]) => declared.get(name) ?? { name, type: type as Variables[number]['type'], required: false },
    ),
    ...kept,
  ];
};

/**
 * Fields of a content for our own operations.
 * @throws {DomainError} `invalid_request` in the vendor's names, if a placeholder cannot be converted.
 */
export const contentOf = ({ sources, raw, names, before }: VendorTemplate): Fields => {
  const { subject = 'subject', html = 'html', text = 'text' } = names;
  const converted = liquidOf(sources, { raw, names: { subject, html, text } });
  requireNone(converted.problems);
  return {
    ...converted.sources,
    html: htmlOrText(converted.sources),
    text: converted.sources.text === '' ? null : converted.sources.text,
    variables: variablesOf(converted.variables, before),
  };
};

/** Digits of an alias that stands for a number of theirs: more are not exact in JavaScript. */
const NUMBER = /^[1-9]\d{0,14}$/;
const NUMBERS_FROM = 100_000_000;
const NUMBERS = 900_000_000;

/** True for an alias that no program chose. */
export const isNumber = (alias: string): boolean => NUMBER.test(alias);

/** An alias for a template that has none there. */
export const numberAsAlias = ({ deps }: RouteContext): string =>
  String(NUMBERS_FROM + Math.floor(random(deps.context.system) * NUMBERS));

type AnyCall = Call<unknown, unknown>;

export const loadTemplate = (route: RouteContext, call: AnyCall, id: string): Promise<SerializedWholeTemplate> =>
  perform<SerializedWholeTemplate>(route, call, 'GET /v1/templates/:id', { id });

const publish = (route: RouteContext, call: AnyCall, id: string, names: PathNames): Promise<unknown> =>
  perform(route, call, 'POST /v1/templates/:id/publish', { id, names });

/** Creates a template that applies at once. @throws {DomainError} in the vendor's names; the template is deleted again. */
export const createPublished = async (
  route: RouteContext,
  call: AnyCall,
  body: Fields,
  names: PathNames,
): Promise<SerializedWholeTemplate> => {
  const { id } = await perform<SerializedWholeTemplate>(route, call, 'POST /v1/templates', { body, names });
  try {
    await publish(route, call, id, names);
  } catch (error) {
    await perform(route, call, 'DELETE /v1/templates/:id', { id });
    throw error;
  }
  return loadTemplate(route, call, id);
};

/** Fields of a template that a change can restore, and a copy has. */
export const fieldsOfTemplate = ({ name, description, content }: SerializedWholeTemplate): Fields => ({
  name,
  description,
  ...content,
  locales: Object.fromEntries(Object.entries(content.locales).map(([tag, one]) => [tag, { ...one }])),
});

/**
 * Changes a template and publishes it as a new version.
 * @param before the template as it was read, to restore it.
 * @throws {DomainError} in the vendor's names.
 */
export const changePublished = async (
  route: RouteContext,
  call: AnyCall,
  before: SerializedWholeTemplate,
  { body, names }: { readonly body: Fields; readonly names: PathNames },
): Promise<void> => {
  const { id } = before;
  const changed = await perform<SerializedWholeTemplate>(route, call, 'PATCH /v1/templates/:id', { id, body, names });
  if (!changed.has_draft) return; // nothing had changed
  try {
    await publish(route, call, id, names);
  } catch (error) {
    await perform(route, call, 'PATCH /v1/templates/:id', { id, body: fieldsOfTemplate(before) });
    throw error;
  }
};

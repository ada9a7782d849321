/** Longer ones are images written into the style; what hides text stands before. */
const CHARACTERS_MAX = 4_000;

export type Declarations = ReadonlyMap<string, string>;

const NOTHING: Declarations = new Map();
const IMPORTANT = '!important';

const valueIn = (written: string): string => {
  const value = written.trim().toLowerCase();
  return value.endsWith(IMPORTANT) ? value.slice(0, -IMPORTANT.length).trimEnd() : value;
};

/**
 * The declarations of a `style` attribute, the last of each name; lower case. Semicolons within strings and `url()` cut
 * their values, which nothing here asks for.
 */
export const declarationsOf = (style: string | undefined): Declarations => {
  if (style === undefined || style === '') return NOTHING;
  const declarations = new Map<string, string>();
  for (const declaration of style.slice(0, CHARACTERS_MAX).split(';')) {
    const colon = declaration.indexOf(':');
    if (colon > 0)
      declarations.set(declaration.slice(0, colon).trim().toLowerCase(), valueIn(declaration.slice(colon + 1)));
  }
  return declarations;
};

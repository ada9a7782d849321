/** Clients send a few hundred characters; more is not read. */
const HEADER_CHARACTERS_MAX = 1000;
/** RFC 9110 §12.4.2. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

const preferenceOf = (text: string): { readonly value: string; readonly weight: number } => {
  const [value = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((one) => one.startsWith('q='))?.slice(2) ?? '1';
  return { value, weight: WEIGHT.test(quality) ? Number(quality) : 0 };
};

/**
 * Values of a header of preferences, such as `Accept` or `Accept-Language` (RFC 9110 §12.5): in lower case, without
 * parameters, most wanted first, without those of weight 0.
 */
export const acceptedIn = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .slice(0, HEADER_CHARACTERS_MAX)
    .split(',')
    .map(preferenceOf)
    .filter(({ value, weight }) => value !== '' && weight > 0)
    .sort((left, right) => right.weight - left.weight)
    .map(({ value }) => value);

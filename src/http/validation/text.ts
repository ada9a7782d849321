import { z } from 'zod';

/** Half of a character: no encoding can carry it. */
const broken = (text: string): boolean => !text.isWellFormed();
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Text that may have lines; NUL cannot be stored and ends strings elsewhere. */
export const text = (maximum: number) =>
  z
    .string()
    .max(maximum)
    .refine((value) => !value.includes('\0') && !broken(value), 'must not contain NUL or unpaired surrogates');

const isLine = (value: string): boolean => !CONTROL.test(value) && !broken(value);

/** Text that stays on its line wherever it is put: a header, a log, a list. */
export const line = (maximum: number, minimum = 1) =>
  z.string().min(minimum).max(maximum).refine(isLine, 'must not contain line breaks or control characters');

/** Of a header of the message: HTAB is white space there (RFC 5322 §2.2.2), and is written as a space. */
export const headerText = (maximum: number, minimum = 1) =>
  z
    .string()
    .min(minimum)
    .max(maximum)
    .refine((value) => isLine(value.replaceAll('\t', ' ')), 'must not contain line breaks or control characters');

import { z } from 'zod';

/**
 * The issuer and the customer of an invoice, its number and its tax. An invoice keeps a copy of all of them, so that later
 * changes of settings change no closed invoice.
 */

/** Longer names and addresses do not fit on the page; shorter limits cut real ones. */
const LINE_CHARACTERS_MAX = 100;
const ADDRESS_CHARACTERS_MAX = 400;
const TAX_ID_CHARACTERS_MAX = 40;
const PREFIX_CHARACTERS_MAX = 16;

const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const isOneLine = (text: string): boolean => !CONTROLS.test(text);
const isLines = (text: string): boolean => text.split('\n').every(isOneLine);

const oneLine = (max: number) =>
  z.string().trim().min(1).max(max).refine(isOneLine, 'must be one line without control characters');

const party = {
  name: oneLine(LINE_CHARACTERS_MAX).describe('Legal name.'),
  address: z
    .string()
    .trim()
    .min(1)
    .max(ADDRESS_CHARACTERS_MAX)
    .refine(isLines, 'must be lines separated by \\n, without other control characters')
    .describe('Postal address, with a line break (\\n) between its lines.'),
};
const taxId = oneLine(TAX_ID_CHARACTERS_MAX).nullable();

/** The customer, from the settings of its organization. */
export const customerSchema = z.strictObject({ ...party, taxId });
export type Customer = Readonly<z.infer<typeof customerSchema>>;

const TAX_RATE = /^(0|[1-9]\d?|100)(\.\d{1,3})?$/;

/** The issuer, from the operator's file of plans. */
export const issuerSchema = z.strictObject({
  ...party,
  taxId: taxId.default(null),
  /** Absent: no tax is added. */
  tax: z
    .strictObject({
      name: oneLine(LINE_CHARACTERS_MAX),
      rate: z.string().regex(TAX_RATE, 'must be a percentage as a decimal string, such as "19" or "7.7"'),
    })
    .nullable()
    .default(null),
  numberPrefix: oneLine(PREFIX_CHARACTERS_MAX).nullable().default(null),
});
export type Issuer = Readonly<z.infer<typeof issuerSchema>>;

/** Fields of a closed invoice. Earlier versions recorded none of them. */
export const partiesOfInvoice = {
  number: z.string().optional(),
  issuer: z.strictObject({ ...party, taxId }).optional(),
  customer: customerSchema.optional(),
  /** `amount` in the currency's minor unit, on top of the total. */
  tax: z.strictObject({ name: z.string(), rate: z.string(), amount: z.number().int() }).optional(),
};

import { z } from 'zod';
import { canonicalAddress, parseMailbox } from '../../../domain/email-address.ts';
import { SUPPRESSION_SCOPES } from '../../../domain/suppression/events.ts';
import { text } from '../../validation/text.ts';
import { timeField } from '../../validation/time-field.ts';

/** Room for a sentence or two, and for what a server replied. */
const NOTE_CHARACTERS_MAX = 2000;

/** An address as it is written, without a name; parsed. */
export const addressField = () =>
  z
    .string()
    .refine((written) => typeof parseMailbox(written) !== 'string', 'is not an email address')
    .transform((written) => {
      const parsed = parseMailbox(written);
      return typeof parsed === 'string' ? '' : parsed.address;
    });

/** What can be said of an address beside itself. */
export const suppressionFields = {
  scope: z
    .enum(SUPPRESSION_SCOPES)
    .default('all')
    .describe('What is kept from the address: everything, or messages of one `stream`.'),
  expires_at: timeField().nullable().default(null).describe('When it may be sent to again; null: never.'),
  note: text(NOTE_CHARACTERS_MAX).nullable().default(null).describe('What speaks for it.'),
};

/** Each mailbox once, however it is written; the first spelling counts. */
export const distinct = (addresses: readonly string[]): readonly string[] =>
  [...new Map(addresses.toReversed().map((address) => [canonicalAddress(address), address])).values()].toReversed();

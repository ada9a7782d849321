import { z } from 'zod';
import { isBase64, mediaTypeOf } from '../../../domain/message/content-parts.ts';
import {
  isAttachmentType,
  isMessageType,
  isSevenBit,
  type StoredAlternative,
  type StoredAttachment,
} from '../../../lib/mime/mime.ts';
import { atMost, line } from '../../validation/fields.ts';

/** Fields of a send that hold files, and the message in other forms. */

export const ATTACHMENTS_MAX = 20;
const FILENAME_CHARACTERS_MAX = 255;
const CONTENT_ID = /^[\w!#$%&'*+/=?^`{|}~.@-]{1,200}$/;
const CONTENT_ID_SENTENCE = 'must be 1 to 200 letters, digits or signs, without spaces and angle brackets';

/** Invitations and AMP are one each. */
export const ALTERNATIVES_MAX = 5;
/** 300 kB: an invitation is a hundredth of it. The digest of the request is made of it in one turn. */
const ALTERNATIVE_CHARACTERS_MAX = 400_000;
/** AMP comes before the html, so that a reader of both prefers the html only where it shows no AMP. */
const BEFORE_HTML = /^text\/x-amp-html\b/i;

export const alternatives = atMost(
  ALTERNATIVES_MAX,
  z
    .array(
      z
        .strictObject({
          content_type: z
            .string()
            .refine(isAttachmentType, 'must be a media type (RFC 6838), and neither multipart/* nor message/*')
            .describe('Media type with its parameters: `text/calendar; charset=utf-8; method=REQUEST`.'),
          content: z
            .string()
            .max(ALTERNATIVE_CHARACTERS_MAX)
            .refine(isBase64, 'must be base64 (RFC 4648 §4) without line breaks')
            .describe('Base64 (RFC 4648 §4), padded, without line breaks.'),
        })
        .transform(
          ({ content_type: contentType, content }): StoredAlternative => ({
            contentType,
            content,
            disposition: 'none',
            beforeHtml: BEFORE_HTML.test(contentType),
          }),
        ),
    )
    .max(ALTERNATIVES_MAX),
);

/** Attached messages are copied unchanged and scanned twice, which takes 10 ms at this size. */
export const MESSAGE_BASE64_MAX = 6_000_000;

interface AttachedMessages {
  readonly contentType: string;
  readonly content: string;
}

/** Why one cannot be attached as a message, which no server may encode (RFC 2046 §5.2.1). */
const messageProblems = (attached: readonly AttachedMessages[]): readonly (string | null)[] => {
  let characters = 0;
  return attached.map(({ contentType, content }) => {
    if (!isMessageType(contentType)) return null;
    characters += content.length;
    const isFit = characters <= MESSAGE_BASE64_MAX && isSevenBit(Buffer.from(content, 'base64').toString('latin1'));
    return isFit ? null : 'is a message that is large or not in lines of ASCII: attach it as application/octet-stream';
  });
};

export const attachments = atMost(
  ATTACHMENTS_MAX,
  z
    .array(
      z
        .strictObject({
          filename: line(FILENAME_CHARACTERS_MAX).describe('The name that recipients see.'),
          content: z
            .string()
            .refine(isBase64, 'must be base64 (RFC 4648 §4) without line breaks')
            .describe('Base64 (RFC 4648 §4), padded, without line breaks.'),
          content_type: z
            .string()
            .refine(
              (type) => isAttachmentType(type) || isMessageType(type),
              'must be a media type (RFC 6838), and neither multipart/* nor message/* but message/rfc822',
            )
            .optional()
            .describe('Media type. Default: by the ending of `filename`, else `application/octet-stream`.'),
          content_id: z
            .string()
            .refine((id) => CONTENT_ID.test(id), CONTENT_ID_SENTENCE)
            .optional()
            .describe('Shows the file where the HTML refers to it: `cid:logo` for `logo`.'),
        })
        .transform(
          ({ filename, content, content_type: contentType, content_id: contentId }): StoredAttachment => ({
            filename,
            contentType: contentType ?? mediaTypeOf(filename),
            content,
            ...(contentId === undefined ? {} : { contentId }),
          }),
        ),
    )
    .max(ATTACHMENTS_MAX)
    .superRefine((attached, context) => {
      for (const [index, message] of messageProblems(attached).entries())
        if (message !== null) context.addIssue({ code: 'custom', message, path: [index] });
    }),
);

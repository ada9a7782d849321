import { type Check, type Discovery, discovery } from '../discovery.ts';
import {
  ARCHIVE_TYPES,
  DOCUMENT_TYPES,
  EXECUTABLE_MEDIA_TYPES,
  EXECUTABLE_TYPES,
  PROGRAM_HEADS,
} from '../executable-types.ts';
import type { AttachmentFact } from '../facts.ts';
import { quoted } from '../text/quoted.ts';

/** They turn the direction of what follows around: `annexe\u202Efdp.exe` looks like `annexeexe.pdf`. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** Windows drops these from the end of a name. */
const DROPPED_AT_END = /^[. ]$/;

const endings = (filename: string): readonly string[] => {
  let end = filename.length;
  while (DROPPED_AT_END.test(filename[end - 1] ?? '')) end -= 1;
  return filename.slice(0, end).toLowerCase().split('.').slice(1).reverse();
};

/** Without its parameters, which begin with a semicolon. */
const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();

const executable = ({ filename, contentType, head }: AttachmentFact): string | null => {
  const [last = '', before = ''] = endings(filename);
  const name = quoted(filename);
  if (EXECUTABLE_TYPES.has(last)) {
    return DOCUMENT_TYPES.has(before.trim())
      ? `${name} is a program that looks like a ${before.trim()} file`
      : `${name} is a program`;
  }
  const program = PROGRAM_HEADS.find(([bytes]) => head.startsWith(bytes));
  if (program !== undefined) return `${name} begins like ${program[1]}`;
  const mediaType = mediaTypeOf(contentType);
  return EXECUTABLE_MEDIA_TYPES.has(mediaType) ? `${name} is sent as ${mediaType}, the type of a program` : null;
};

function* judged(field: string, attachment: AttachmentFact): Generator<Discovery> {
  const { filename } = attachment;
  const program = executable(attachment);
  if (program !== null) yield discovery('attachment-executable', field, program);
  if (DIRECTION.test(filename)) {
    const said = `the name ${quoted(filename)} contains characters that turn the direction of text`;
    yield discovery('attachment-name-deceptive', field, said);
  }
  if (ARCHIVE_TYPES.has(endings(filename)[0] ?? '')) {
    yield discovery('attachment-archive', field, `${quoted(filename)} is an archive, into which filters may not see`);
  }
}

/** Files that receivers refuse, or that are not what they seem. */
export const attachments: Check = function* ({ attachments: list }) {
  for (const [index, attachment] of list.entries()) yield* judged(`attachments[${index}]`, attachment);
};

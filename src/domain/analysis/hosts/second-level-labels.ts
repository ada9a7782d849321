/** Under two-letter domains these are no names of anybody, but part of the suffix: `shop.co.uk` is a site. */
export const SECOND_LEVEL_LABELS: ReadonlySet<string> = new Set(
  'ac asn co com edu go gob gov gouv govt gv id ltd me mil net ne nhs nom or org plc police sch school web'.split(' '),
);

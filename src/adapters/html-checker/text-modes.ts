import { TokenizerMode } from 'parse5';

type TextMode = (typeof TokenizerMode)[keyof typeof TokenizerMode];

/** §13.2.6.2: elements whose content is not markup up to their own end tag. */
export const TEXT_MODES: ReadonlyMap<string, TextMode> = new Map<string, TextMode>([
  ['title', TokenizerMode.RCDATA],
  ['textarea', TokenizerMode.RCDATA],
  ['style', TokenizerMode.RAWTEXT],
  ['xmp', TokenizerMode.RAWTEXT],
  ['iframe', TokenizerMode.RAWTEXT],
  ['noembed', TokenizerMode.RAWTEXT],
  ['noframes', TokenizerMode.RAWTEXT],
  ['script', TokenizerMode.SCRIPT_DATA],
  ['plaintext', TokenizerMode.PLAINTEXT],
]);

import { inflateSync } from 'node:zlib';

/** The text of a page's streams, one line for each text object. */
export const textOf = (pdf: Buffer): string => {
  const found: string[] = [];
  for (let at = pdf.indexOf('stream\n'); at !== -1; at = pdf.indexOf('\nstream\n', at + 1)) {
    const begin = pdf.indexOf('stream\n', at) + 'stream\n'.length;
    try {
      const content = inflateSync(pdf.subarray(begin)).toString('latin1');
      for (const [, pieces = ''] of content.matchAll(/\[(.*?)\] TJ/g)) {
        const hex = [...pieces.matchAll(/<([0-9a-f]*)>/g)].map(([, digits]) => digits).join('');
        found.push(Buffer.from(hex, 'hex').toString('latin1'));
      }
    } catch {} // not a page
  }
  return found.join('\n');
};

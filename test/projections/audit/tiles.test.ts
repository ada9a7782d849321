import { describe, expect, test } from 'vitest';
import { parseTilePath, type TileName, tilePath } from '../../../src/projections/audit/tiles.ts';

const NAMES: readonly (readonly [string, TileName])[] = [
  ['tile/0/000', { level: 0, tile: 0, width: 256 }],
  ['tile/0/273.p/112', { level: 0, tile: 273, width: 112 }],
  ['tile/63/x001/x234/067.p/1', { level: 63, tile: 1_234_067, width: 1 }],
  ['tile/entries/x001/000', { level: 'entries', tile: 1_000, width: 256 }],
];

describe('a tile path', () => {
  test.each(NAMES)('%s can be written and read', (path, name) => {
    expect(tilePath(name)).toBe(path);
    expect(parseTilePath(path)).toEqual(name);
  });

  test.each([
    '',
    'tile/0/0',
    'tile/00/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/0/x000/001',
    'tile/0/001/002',
    'tile/0/x001/x002',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/000/',
    '/tile/0/000',
    'tile/data/000',
    'tile/0/x999/x999/x999/x999/x999/x999/999',
  ])('cannot be %j', (path) => {
    expect(parseTilePath(path)).toBeNull();
  });
});

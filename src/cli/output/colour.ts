import { styleText } from 'node:util';
import { withoutColour } from '../../config.ts';

/** When text is coloured. */
export type ColourWish = 'auto' | 'always' | 'never';

/** A colour of the output. */
type Colour = 'green' | 'yellow' | 'red' | 'cyan' | 'dim' | 'bold';

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: Colour, text: string) => string;

/** How text for this stream is coloured. */
export function paintFor(wish: ColourWish, stream: { readonly isTTY?: boolean }): Paint {
  const isColoured = wish === 'always' || (wish === 'auto' && stream.isTTY === true && !withoutColour());
  return isColoured ? (colour, text) => styleText(colour, text, { validateStream: false }) : (_colour, text) => text;
}

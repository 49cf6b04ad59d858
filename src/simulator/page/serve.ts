import { hash } from 'node:crypto';

import { answered, type Answered, type HttpRequest } from '../http/exchange.ts';
import { refused, requireLoopback } from '../http/local.ts';
import { RequestRefusal } from '../http/refusal.ts';
import { assemblePage } from './assemble.ts';

/**
 * Serves the simulator's web page at `/`. Refuses a request whose Host header is not a loopback address, and a request
 * from a web page of another origin.
 */
export function servePage(request: HttpRequest): Answered {
  try {
    requireLoopback(request);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new RequestRefusal(405, 'this path accepts only GET requests', {}, { allow: 'GET, HEAD' });
    const body = assemblePage();
    return answered(200, body, headersFor(body));
  } catch (error) {
    if (error instanceof RequestRefusal) return refused(error);
    throw error;
  }
}

/** Returns the security headers of the web page, which allow the page to run only its own script. */
function headersFor(html: string): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(html, 'script')}`,
    `style-src ${hashOf(html, 'style')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
  };
}

function hashOf(html: string, tag: 'script' | 'style'): string {
  const start = html.indexOf('>', html.indexOf(`<${tag}>`)) + 1;
  const content = html.slice(start, html.indexOf(`</${tag}>`, start));
  return `'sha256-${hash('sha256', content, 'base64')}'`;
}

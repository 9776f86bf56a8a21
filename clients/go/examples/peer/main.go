// Command peer is one of several processes that share a sidecar. It registers a tool of its own, tells on standard output
// what it sees change, and does what it is told on standard input, each a line:
//
//	call TEXT      calls its own tool through the sidecar
//	search WORDS   searches the deferred tools
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	binary := flag.String("binary", "", "the toolscout program; default TOOLSCOUT_BIN, else toolscout on PATH")
	workspace := flag.String("workspace", "", "folder whose .toolscout is read; default the working directory")
	name := flag.String("name", "peer", "name of the source that is registered")
	flag.Parse()
	if err := serve(context.Background(), newPeer(*binary, *workspace, *name)); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// serve lasts until standard input closes.
func serve(ctx context.Context, p *peer) error {
	defer p.client.Close()
	if err := p.open(ctx); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := p.do(ctx, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

"""Wire formats: RTP, payload formats, header extensions and RTCP; pure."""

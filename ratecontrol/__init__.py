"""Bits: pure control of quantizer, frame size and buffer; knows no codec."""
